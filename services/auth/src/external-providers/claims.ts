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
