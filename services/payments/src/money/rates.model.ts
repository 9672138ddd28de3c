import type { Rate } from './ecb-rates.ts'

/** Currencies that the euro has replaced. Each rate is units for one euro, fixed by law. */
const FIXED = [
  { currency: 'HRK', until: '2022-12-31', rate: '7.53450' },
  { currency: 'BGN', until: '2025-12-31', rate: '1.95583' },
] as const

/**
 * Returns the rate of a day (`2026-03-01`), as the model of the SQL function `fx_rate` (reference: Exchange rates). It is the
 * rate of the latest date up to the day. Before all dates, it is the first rate. After the last day of a currency that the euro
 * has replaced, it is the fixed rate. For the same date, imported rates override embedded ones. The euro is the base, always 1.
 * Returns `undefined` if the currency has no rate.
 */
export function rateOfDay(
  rates: readonly Rate[],
  currency: string,
  day: string,
): Pick<Rate, 'rate' | 'date'> | undefined {
  if (currency === 'EUR') return { rate: '1', date: day }
  const fixed = FIXED.find((end) => end.currency === currency && day > end.until)
  if (fixed) return { rate: fixed.rate, date: day }
  const known = rates.filter((rate) => rate.currency === currency).sort(byDateImportedFirst)
  const latest = known.findLast(({ date }) => date <= day)?.date ?? known[0]?.date
  return known.find(({ date }) => date === latest)
}

function byDateImportedFirst(a: Rate, b: Rate): number {
  if (a.date !== b.date) return a.date < b.date ? -1 : 1
  return Number(a.source === 'embedded') - Number(b.source === 'embedded')
}
