import table from './currencies.json' with { type: 'json' }

/** A currency that can be charged. `exponent` is the number of decimals of the currency (ISO 4217). */
export interface Currency {
  readonly code: string
  readonly exponent: number
  /** Whether the currency can be the funding currency of a merchant. */
  readonly funding: boolean
  /** Whether the currency is refused for new merchants and new transactions. */
  readonly deprecated: boolean
  /** The last valid day of a withdrawn currency, such as `2025-12-31`. */
  readonly until?: string
}

const LISTED: readonly Currency[] = table.currencies
const CURRENCIES: ReadonlyMap<string, Currency> = new Map(LISTED.map((currency) => [currency.code, currency]))

/** The codes (ISO 4217) of currencies that new transactions may use, in the order of currencies.json (reference: Currencies). */
export const CHARGEABLE: readonly string[] = LISTED.flatMap(({ code }) => (isChargeable(code) ? [code] : []))
/** The codes of currencies that the balance of a new merchant may use, in the same order. */
export const FUNDING: readonly string[] = CHARGEABLE.filter(isFundingCurrency)

/** Returns whether a new merchant may have its balance in this currency. */
export function isFundingCurrency(code: string): boolean {
  return CURRENCIES.get(code)?.funding === true && isChargeable(code)
}

/** Whether new transactions may use this currency. It must be listed, and must not have ended by the date of the list. */
export function isChargeable(code: string): boolean {
  const currency = CURRENCIES.get(code)
  return currency?.deprecated === false && !hasEnded(code, table.asOf)
}

/** Whether the currency was withdrawn before a day (`2026-03-01`). It has no rates after its last day. */
export function hasEnded(code: string, day: string): boolean {
  const until = CURRENCIES.get(code)?.until
  return until !== undefined && until < day
}

/** The fixed rates of currencies that the euro has replaced, in hundred-thousandths of a unit for one euro. */
const REPLACED_BY_EURO: ReadonlyMap<string, bigint> = new Map([
  ['BGN', 195_583n],
  ['HRK', 753_450n],
])

/**
 * Converts an amount from a currency that the euro has replaced into euro, rounded to the nearest minor unit. Both amounts are in
 * minor units, with two decimals, and may be negative. Returns `undefined` for other currencies.
 * @see SQL function `to_euro`
 */
export function toEuro(amount: bigint, code: string): bigint | undefined {
  const rate = REPLACED_BY_EURO.get(code)
  if (rate === undefined) return undefined
  return amount < 0n ? -roundedEuro(-amount, rate) : roundedEuro(amount, rate)
}

/** No amount lies halfway between two minor units at these rates, so rounding half to even gives the same result. */
function roundedEuro(amount: bigint, rate: bigint): bigint {
  return (amount * 100_000n + rate / 2n) / rate
}

/** Returns whether the euro has replaced the currency at a rate that is fixed by law. */
export function hasFixedRate(code: string): boolean {
  return REPLACED_BY_EURO.has(code)
}

/** Returns whether the currency is listed. Deprecated and withdrawn currencies are listed too. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}

/** All listed currencies with their decimals, in the order of currencies.json, including withdrawn ones. */
export function listCurrencies(): readonly Pick<Currency, 'code' | 'exponent'>[] {
  return LISTED.map(({ code, exponent }) => ({ code, exponent }))
}

/** Returns the number of decimals of the currency, or `undefined` if the currency is not listed. */
export function currencyExponent(code: string): number | undefined {
  return CURRENCIES.get(code)?.exponent
}
