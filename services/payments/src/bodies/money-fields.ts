import { z } from 'zod'
import { isChargeable } from '../money/currencies.ts'
import { isStorable, text } from './fields.ts'

const AMOUNT_MAX = 999_999_999_999
const CUSTOM_BYTES_MAX = 50_000

/** Minor units: at least one, at most twelve digits, the size of the networks' field. */
export function amount() {
  return z.int().min(1).max(AMOUNT_MAX)
}

/** A currency that new transactions may have. */
export function currency() {
  return text()
    .trim()
    .refine((code) => /^[A-Z]{3}$/.test(code), { error: 'must be three upper-case letters' })
    .refine(isChargeable, { error: 'must be a currency that can be charged', params: { code: 'UNKNOWN' } })
}

/** A merchant's own word for something: 1 to 255 characters. */
export function reference() {
  return text().min(1).max(255)
}

/** Official clients have no member for a reference: they put one into `custom`. */
export function referenceOf(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || !('reference' in given)) return undefined
  return reference().safeParse(given.reference).data
}

/** A merchant's own object, kept as it is given. */
export function custom() {
  return keepable(z.record(z.string(), z.unknown()))
}

/** The same at the checkout, where it may be any JSON value. */
export function anyCustom() {
  return keepable(z.unknown())
}

function keepable<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .refine((value) => Buffer.byteLength(JSON.stringify(value) ?? '') <= CUSTOM_BYTES_MAX, {
      error: `must be at most ${CUSTOM_BYTES_MAX} bytes`,
      params: { code: 'RANGE' },
    })
    .refine(isStorableDeep, { error: 'must not contain U+0000 or lone surrogates' })
}

function isStorableDeep(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, member]) => isStorable(key) && isStorableDeep(member))
}
