import { z } from 'zod'
import type { ListedEmail } from './provider.ts'

/** All claims except the ones that the profile holds elsewhere. */
export function omitClaims(
  claims: Readonly<Record<string, unknown>>,
  omitted: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.includes(name)))
}

/** An address and the claim about it, a boolean or its text. Without a claim it counts as verified, by assumption. */
export function toListedEmail(email: ListedEmail['email'], verified: unknown): ListedEmail {
  const isAssumed = verified === undefined
  return { email, isVerified: isAssumed || String(verified) === 'true', isAssumed }
}

/** First and last name together; empty where neither is known. */
export function fullName(first: string | null | undefined, last: string | null | undefined): string {
  return [first, last].filter(Boolean).join(' ')
}

// The members of a profile beside the id. A member of another type than the provider documents counts as
// missing, so that nobody is kept out by the name or the picture of their account (reference: Answers of
// providers).

/** A text, or none. */
export const Text = z.string().nullish().catch(undefined)
/** True or false, or none. The text `true` is none. */
export const Flag = z.boolean().nullish().catch(undefined)
/** A number, or none. */
export const Count = z.number().nullish().catch(undefined)

/** A list without the entries of another form; empty where there is none. */
export function listOf<Schema extends z.ZodType>(entry: Schema): z.ZodType<z.output<Schema>[]> {
  const readEntry = (value: unknown) => {
    const { success, data } = entry.safeParse(value)
    return success ? [data] : []
  }
  return z
    .array(z.unknown())
    .catch([])
    .transform((values) => values.flatMap(readEntry))
}
