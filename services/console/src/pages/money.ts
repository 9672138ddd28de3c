import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { z } from 'zod'
import { amountInvalid } from '../errors.ts'
import type { Listed, OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'

/** The decimals of the minor unit of each currency, by its code, as payments lists them. */
export type Decimals = ReadonlyMap<string, number>

const PERCENT_DIGITS = 2
/** 100 %. */
const BASIS_POINTS_MAX = 10_000

/**
 * An amount of payments, in minor units. A balance may exceed 2^53−1, which `z.int()` refuses: one such merchant would break
 * the pages of every operator.
 */
export const Amount = z.number().refine(Number.isInteger)

/** An answer of payments with amounts, and the decimals to write them. */
export type WithDecimals<T> = T & { readonly decimals: Decimals }

/** The currencies of payments (console reference: Currencies of operators). */
const Currencies = z
  .object({ currencies: z.array(z.object({ code: z.string(), exponent: z.int().min(0) })) })
  .transform(({ currencies }): Decimals => new Map(currencies.map(({ code, exponent }) => [code, exponent])))

/**
 * An amount with its currency, as `EUR 1,234.50`. An amount in an unknown currency is shown in minor units.
 * @param amount in minor units
 */
export function money(amount: number, currency: string, decimals: Decimals): string {
  const digits = decimals.get(currency)
  if (digits === undefined) return `${currency} ${amount} minor units`
  const [whole = '', fraction] = decimalText(amount, digits).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${currency} ${fraction === undefined ? grouped : `${grouped}.${fraction}`}`
}

/** Reads an answer of payments with amounts, and the decimals of the currencies at the same time. */
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

/** The value of a field for an amount: `1234.50`. Empty in an unknown currency. @param amount in minor units */
export function typedMoney(amount: number, currency: string, decimals: Decimals): string {
  const digits = decimals.get(currency)
  return digits === undefined ? '' : decimalText(amount, digits)
}

/**
 * Reads an amount that an operator typed, such as `12.50` or `12,5`, in minor units. Undefined for another text. A comma
 * before three digits is refused: it may stand between thousands.
 */
export function readMoney(text: string, currency: string, decimals: Decimals): number | undefined {
  const digits = decimals.get(currency)
  return digits === undefined ? undefined : readDecimal(text, digits)
}

/** The refusal of a field without an amount in its currency. */
export function invalidAmount(
  field: string,
  currency: string,
): { readonly problem: HttpError; readonly field: string } {
  return { problem: amountInvalid({ currency }), field }
}

/** A share as `1.45 %`. @param basisPoints hundredths of a percent */
export function percent(basisPoints: number): string {
  return `${typedPercent(basisPoints)} %`
}

/** The value of a field for a share: `1.45`. @param basisPoints hundredths of a percent */
export function typedPercent(basisPoints: number): string {
  return decimalText(basisPoints, PERCENT_DIGITS)
}

/** Reads a percentage that an operator typed, such as `1.45` or `1,4`, in basis points. Undefined for another text. */
export function readPercent(text: string): number | undefined {
  const basisPoints = readDecimal(text, PERCENT_DIGITS)
  return basisPoints !== undefined && basisPoints <= BASIS_POINTS_MAX ? basisPoints : undefined
}

/** Reads a number with a limited number of decimals, as an integer of its smallest unit. */
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
