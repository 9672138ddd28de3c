import { storedJsonBytes } from '@trestle/common/documents/stored-json.ts'
import { z } from 'zod'
import { hasCardNumberDeep } from '../cards/clear-number.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { isStorable } from './fields.ts'

const CUSTOM_BYTES_MAX = 50_000

/** An object of the merchant's own, stored as JSON, with numbers in double precision. Its size counts numbers written out. */
export function custom(): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return storableJson(z.record(z.string(), z.unknown()))
}

/** `custom` at the checkout, where it may be any JSON value. */
export function anyCustom(): z.ZodUnknown {
  return storableJson(z.unknown())
}

function storableJson<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .refine((value) => storedJsonBytes(value) <= CUSTOM_BYTES_MAX, {
      error: FIELD_TEXTS.tooManyBytes({ max: CUSTOM_BYTES_MAX }),
      params: { code: 'RANGE' },
      // A stranger may send it: what is too large is not searched.
      abort: true,
    })
    .refine(isStorableDeep, { error: FIELD_TEXTS.notStorable })
    .refine((value) => !hasCardNumberDeep(value), { error: FIELD_TEXTS.cardNumber })
}

function isStorableDeep(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, field]) => isStorable(key) && isStorableDeep(field))
}
