import table from './currencies.json' with { type: 'json' }

/** A currency that can be charged. `exponent` is the number of decimals of its minor unit (ISO 4217). */
export interface Currency {
  readonly code: string
  readonly exponent: number
  /** Whether it can be the funding currency of a merchant. */
  readonly funding: boolean
  /** Refused for new merchants and new transactions. */
  readonly deprecated: boolean
}

const CURRENCIES: ReadonlyMap<string, Currency> = new Map(table.currencies.map((currency) => [currency.code, currency]))

/** The codes (ISO 4217) of what new transactions may be in, in the order of currencies.json (reference: Currencies). */
export const CHARGEABLE: readonly string[] = table.currencies.flatMap(({ code, deprecated }) =>
  deprecated ? [] : [code],
)
/** The codes of what new merchants may have their balance in, in the same order. */
export const FUNDING: readonly string[] = CHARGEABLE.filter(isFundingCurrency)

/** Whether a new merchant may have its balance in this currency. */
export function isFundingCurrency(code: string): boolean {
  const currency = CURRENCIES.get(code)
  return currency?.funding === true && !currency.deprecated
}

/** Whether new transactions may be in this currency. */
export function isChargeable(code: string): boolean {
  return CURRENCIES.get(code)?.deprecated === false
}

/** Whether the currency is listed, deprecated or not. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}

/** Every listed currency with its decimals, deprecated or not, in the order of currencies.json. */
export function listCurrencies(): readonly Pick<Currency, 'code' | 'exponent'>[] {
  return table.currencies.map(({ code, exponent }) => ({ code, exponent }))
}

/** Decimals of the minor unit, or undefined for a currency that is not listed. */
export function currencyExponent(code: string): number | undefined {
  return CURRENCIES.get(code)?.exponent
}
