import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'

const LENGTH_MAX = 255
/** The pattern of a text for people, for the API document: some character that is no white space, and no U+0000. */
export const TEXT_PATTERN = String.raw`^\s*[^\s\x00][^\x00]*$`

/** A text for people that PostgreSQL can store. Its length is counted in code points, as PostgreSQL counts it. */
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
