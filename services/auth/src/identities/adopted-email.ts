import type { Identity } from './identity.ts'

/**
 * The identities whose email a user could take on after their own went with an identity, oldest first. Undefined when the
 * user's email still belongs to one, or there is none. Whether it may be taken on, `isVerified` tells.
 * @param identities what is left, oldest first
 */
export function emailCandidates(
  email: string | null,
  identities: readonly Identity[],
): readonly (Identity & { readonly email: string })[] | undefined {
  if (email === null || identities.some((identity) => identity.email === email)) return undefined
  return identities.filter(hasEmail)
}

/** Whether an identity's email was verified, by us or by its provider. */
export function isVerified({ data }: Identity): boolean {
  return data.email_verified === true
}

function hasEmail(identity: Identity): identity is Identity & { readonly email: string } {
  return identity.email !== null && identity.email !== ''
}
