import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'

/** The time from which on something is ended: RFC 3339 with an offset. */
export const SinceField = z.iso
  .datetime({ offset: true, error: FIELD_TEXTS.time })
  .meta({ example: '2026-01-02T03:04:05Z' })
