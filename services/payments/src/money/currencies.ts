import table from './currencies.json' with { type: 'json' }

/** A currency that can be charged. `exponent` is the number of decimals of its minor unit (ISO 4217). */
export interface Currency {
  readonly code: string
  readonly exponent: number
  /** Whether it can be the funding currency of a merchant. */
  readonly funding: boolean
  /** Refused for new merchants and new transactions. */
  readonly deprecated: boolean
  /** The last day of cards and accounts in a currency that was withdrawn, such as `2025-12-31`. */
  readonly until?: string
}

const LISTED: readonly Currency[] = table.currencies
const CURRENCIES: ReadonlyMap<string, Currency> = new Map(LISTED.map((currency) => [currency.code, currency]))

/** The codes (ISO 4217) of currencies that new transactions may have, in the order of currencies.json (reference: Currencies). */
export const CHARGEABLE: readonly string[] = LISTED.flatMap(({ code }) => (isChargeable(code) ? [code] : []))
/** The codes of currencies that the balance of a new merchant may have, in the same order. */
export const FUNDING: readonly string[] = CHARGEABLE.filter(isFundingCurrency)

/** Whether a new merchant may have its balance in this currency. */
export function isFundingCurrency(code: string): boolean {
  return CURRENCIES.get(code)?.funding === true && isChargeable(code)
}

/** Whether new transactions may be in this currency: the list has it, and it had not ended on the day of the list. */
export function isChargeable(code: string): boolean {
  const currency = CURRENCIES.get(code)
  return currency?.deprecated === false && !hasEnded(code, table.asOf)
}

/** Whether the currency was withdrawn before a day (`2026-03-01`). Its rates end with it. */
export function hasEnded(code: string, day: string): boolean {
  const until = CURRENCIES.get(code)?.until
  return until !== undefined && until < day
}

/** Hundred-thousandths of the units for one euro, fixed by law, of currencies that the euro has replaced. */
const REPLACED_BY_EURO: ReadonlyMap<string, bigint> = new Map([
  ['BGN', 195_583n],
  ['HRK', 753_450n],
])

/**
 * An amount of either sign, in minor units of a currency that the euro has replaced, as minor units of the euro, rounded to the
 * nearest. Each of them has two decimals, as the euro. Undefined for other currencies.
 * @see SQL function `to_euro`
 */
export function toEuro(amount: bigint, code: string): bigint | undefined {
  const rate = REPLACED_BY_EURO.get(code)
  if (rate === undefined) return undefined
  return amount < 0n ? -roundedEuro(-amount, rate) : roundedEuro(amount, rate)
}

/** At neither rate an amount lies halfway between two minor units, so rounding half to even gives the same. */
function roundedEuro(amount: bigint, rate: bigint): bigint {
  return (amount * 100_000n + rate / 2n) / rate
}

/** Whether the euro has replaced the currency, at a rate that the law fixed. */
export function hasFixedRate(code: string): boolean {
  return REPLACED_BY_EURO.has(code)
}

/** Whether the currency is listed, deprecated and withdrawn currencies too. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}

/** Every listed currency with its decimals, also deprecated and withdrawn ones, in the order of currencies.json. */
export function listCurrencies(): readonly Pick<Currency, 'code' | 'exponent'>[] {
  return LISTED.map(({ code, exponent }) => ({ code, exponent }))
}

/** Decimals of the minor unit, or undefined for a currency that is not listed. */
export function currencyExponent(code: string): number | undefined {
  return CURRENCIES.get(code)?.exponent
}
