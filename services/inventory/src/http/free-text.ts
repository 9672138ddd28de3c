import { z } from 'zod'

const LENGTH_MAX = 255

/** A text for people that PostgreSQL can store. Its length is counted in code points, as PostgreSQL counts it. */
export const FreeText = z
  .string({ error: 'must be a string' })
  .meta({ minLength: 1, maxLength: LENGTH_MAX })
  .superRefine((text, context) => {
    const fault = findTextFault(text)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })

function findTextFault(text: string): string | undefined {
  if (text.trim() === '') return 'must not be empty'
  if (!text.isWellFormed() || text.includes('\0')) return 'must not hold U+0000 or half a surrogate pair'
  return text.length > LENGTH_MAX && [...text].length > LENGTH_MAX
    ? `must have at most ${LENGTH_MAX} characters`
    : undefined
}
