/** Everything that a provider says of a person but the claims that are told elsewhere. */
export function omitClaims(
  claims: Readonly<Record<string, unknown>>,
  omitted: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.includes(name)))
}

/** First and last name as one; empty where neither is known. */
export function fullName(first: string | null | undefined, last: string | null | undefined): string {
  return [first, last].filter(Boolean).join(' ')
}
