import { z } from 'zod'

/** An id in a path: decimal, canonical, 1 to 9007199254740991. */
export const PathId = z
  .string()
  .refine((text) => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)), {
    error: 'must be a whole number of at least 1, without sign or leading zeros',
  })
  .meta({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  .transform(Number)
