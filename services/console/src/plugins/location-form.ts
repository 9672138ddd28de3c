import { z } from 'zod'
import { FormBody } from './browser-session.ts'

/** The fields of the form of a location. A box that is not checked is not sent. */
export const LocationBody = FormBody.extend({
  code: z.string().trim(),
  name: z.string(),
  active: z
    .literal('yes')
    .optional()
    .transform((value) => value === 'yes'),
})
