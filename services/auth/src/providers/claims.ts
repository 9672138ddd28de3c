import type { ListedEmail } from './provider.ts'

/** Everything that a provider says of a person but the claims that are told elsewhere. */
export function omitClaims(
  claims: Readonly<Record<string, unknown>>,
  omitted: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.includes(name)))
}

/** A listed address by the claim about it, a boolean or its text: it counts as verified where nothing is told. */
export function toListedEmail(email: ListedEmail['email'], verified: unknown): ListedEmail {
  const isAssumed = verified === undefined
  return { email, isVerified: isAssumed || String(verified) === 'true', isAssumed }
}

/** First and last name as one; empty where neither is known. */
export function fullName(first: string | null | undefined, last: string | null | undefined): string {
  return [first, last].filter(Boolean).join(' ')
}
