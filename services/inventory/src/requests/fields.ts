import { p } from '@trestle/endpoints/endpoints.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'

/** An id: a decimal integer from 1 to 9007199254740991 (reference: Path ids). */
export const RecordId = p.int({ min: 1 })

export const ProductId = RecordId.meta({ description: 'The id of a product' })
export const LocationId = RecordId.meta({ description: 'The id of a location' })
export const ReservationId = RecordId.meta({ description: 'The id of a reservation' })
export const ImportId = RecordId.meta({ description: 'The id of an import' })

const LENGTH_MAX = 255
/** The pattern of text for the OpenAPI document: no U+0000, and at least one character that is not white space. */
export const TEXT_PATTERN = String.raw`^\s*[^\s\x00][^\x00]*$`

/** Text that PostgreSQL can store. Its length is counted in code points, as in PostgreSQL. */
export const FreeText = z
  .string({ error: ({ input }) => (input === undefined ? VALUE_TEXTS.required : FIELD_TEXTS.notString) })
  .meta({ minLength: 1, maxLength: LENGTH_MAX, pattern: TEXT_PATTERN })
  .superRefine((text, context) => {
    const problem = findTextProblem(text)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })

function findTextProblem(text: string): string | undefined {
  if (text.trim() === '') return FIELD_TEXTS.empty
  if (!text.isWellFormed() || text.includes('\0')) return FIELD_TEXTS.notStorable
  return text.length > LENGTH_MAX && [...text].length > LENGTH_MAX
    ? FIELD_TEXTS.tooLong({ max: LENGTH_MAX })
    : undefined
}

/** The default limit that the OpenAPI document states. */
const LIMIT_MAX_DEFAULT = 500

export const PageKeywords = z.object({
  limit: p.int({ min: 1 }).optional().meta({ description: 'How many rows a page has', maximum: LIMIT_MAX_DEFAULT }),
  cursor: z.string({ error: FIELD_TEXTS.givenTwice }).optional().meta({
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Where the page begins, from the Link header of the page before',
  }),
})
export type PageKeywords = z.output<typeof PageKeywords>
