import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { z } from 'zod'
import { amountInvalid } from '../errors.ts'
import type { Listed, OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'

/** The decimals of each currency's minor unit, by currency code, as payments lists them. */
export type Decimals = ReadonlyMap<string, number>

const PERCENT_DIGITS = 2
/** Basis points in 100 %. */
const BASIS_POINTS_MAX = 10_000

/**
 * An amount in minor units. A balance may exceed 2^53−1, and `z.int()` would reject it: one such merchant would break the pages
 * of every operator.
 */
export const Amount = z.number().refine(Number.isInteger)

/** An answer of payments with amounts, and the decimals to format them. */
export type WithDecimals<T> = T & { readonly decimals: Decimals }

/** The currencies of payments (console reference: Currencies of operators). */
const Currencies = z
  .object({ currencies: z.array(z.object({ code: z.string(), exponent: z.int().min(0) })) })
  .transform(({ currencies }): Decimals => new Map(currencies.map(({ code, exponent }) => [code, exponent])))

/**
 * Formats an amount with its currency, such as `EUR 1,234.50`. Uses minor units for an unknown currency.
 * @param amount in minor units
 */
export function money(amount: number, currency: string, decimals: Decimals): string {
  const digits = decimals.get(currency)
  if (digits === undefined) return `${currency} ${amount} minor units`
  const [whole = '', fraction] = decimalText(amount, digits).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${currency} ${fraction === undefined ? grouped : `${grouped}.${fraction}`}`
}

/** Reads an answer of payments with amounts and, in parallel, the decimals of the currencies. */
export async function readWithDecimals<T extends object>(
  calls: Pick<OperatorCalls, 'read'>,
  { path, schema, query }: { readonly path: string; readonly schema: z.ZodType<T>; readonly query?: Query | undefined },
): Promise<Listed<WithDecimals<T>>> {
  const [listed, { value: decimals }] = await Promise.all([
    calls.read('payments', path, schema, query),
    calls.read('payments', '/operator/currencies', Currencies),
  ])
  return { ...listed, value: { ...listed.value, decimals } }
}

/** Formats an amount for a field: `1234.50`. Empty for an unknown currency. @param amount in minor units */
export function typedMoney(amount: number, currency: string, decimals: Decimals): string {
  const digits = decimals.get(currency)
  return digits === undefined ? '' : decimalText(amount, digits)
}

/**
 * Parses an amount that an operator typed, such as `12.50` or `12,5`, into minor units. Returns `undefined` for any other text.
 * Rejects a comma before three digits, because it may separate thousands.
 */
export function readMoney(text: string, currency: string, decimals: Decimals): number | undefined {
  const digits = decimals.get(currency)
  return digits === undefined ? undefined : readDecimal(text, digits)
}

/** The error for a field without a valid amount. */
export function invalidAmount(
  field: string,
  currency: string,
): { readonly problem: HttpError; readonly field: string } {
  return { problem: amountInvalid({ currency }), field }
}

/** Formats a share as `1.45 %`. @param basisPoints hundredths of a percent */
export function percent(basisPoints: number): string {
  return `${typedPercent(basisPoints)} %`
}

/** Formats a share for a field: `1.45`. @param basisPoints hundredths of a percent */
export function typedPercent(basisPoints: number): string {
  return decimalText(basisPoints, PERCENT_DIGITS)
}

/** Parses a percentage such as `1.45` or `1,4` into basis points. Returns `undefined` for any other text. */
export function readPercent(text: string): number | undefined {
  const basisPoints = readDecimal(text, PERCENT_DIGITS)
  return basisPoints !== undefined && basisPoints <= BASIS_POINTS_MAX ? basisPoints : undefined
}

/** Parses a number with at most `digits` decimals into an integer of its smallest unit. */
function readDecimal(text: string, digits: number): number | undefined {
  const [, whole, fraction = ''] = /^\s*(\d{1,12})(?:(?!,\d{3}\s*$)[.,](\d+))?\s*$/.exec(text) ?? []
  if (whole === undefined || fraction.length > digits) return undefined
  const minor = BigInt(whole + fraction.padEnd(digits, '0'))
  return minor <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(minor) : undefined
}

function decimalText(amount: number, digits: number): string {
  if (amount < 0) return `-${decimalText(-amount, digits)}`
  const text = BigInt(amount)
    .toString()
    .padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}
