import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { FreeText } from '../requests/fields.ts'

export const LocationCode = z
  .string({ error: FIELD_TEXTS.notString })
  .regex(/^[A-Za-z0-9._-]{1,64}$/, FIELD_TEXTS.notCode)
  .meta({ description: 'The short name of the location. No other location has it' })
const Name = FreeText.meta({ description: 'The name of the location, for people' })
const Active = p.bool().meta({ description: 'Whether the location takes stock in' })

export const LocationBody = z.object({ code: LocationCode, name: Name, active: Active.default(true) })

/** Contains at least one member. */
export const LocationPatch = z
  .object({ code: LocationCode.optional(), name: Name.optional(), active: Active.optional() })
  .refine((change) => Object.values(change).some((value) => value !== undefined), FIELD_TEXTS.noLocationMember)
  .meta({ minProperties: 1 })
