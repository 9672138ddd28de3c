import type { Rate } from './ecb-rates.ts'

/** Currencies that the euro has replaced: units for one euro, fixed by law. */
const FIXED = [
  { currency: 'HRK', until: '2022-12-31', rate: '7.53450' },
  { currency: 'BGN', until: '2025-12-31', rate: '1.95583' },
] as const

/**
 * The rate that applies on a day (`2026-03-01`): that of the latest date up to the day, or the first rate for a day before all
 * dates. After the last day of a currency that the euro has replaced, its fixed rate. For one date, an imported rate has
 * precedence over the embedded one. Undefined when the currency has no rate. The euro is the base, 1 on every day. The model
 * of the SQL function `fx_rate` (reference: Exchange rates).
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
