import type { Timestamp } from '../records/timestamp.ts'
import type { IdentifierKind } from '../requests/identifier.ts'

/** A way to sign in that belongs to a user. */
export interface Identity {
  /** Id of the row; `identity_id` on the wire. */
  readonly id: string
  readonly userId: string
  /** `email`, `phone`, or the name of an external provider. */
  readonly provider: string
  /** Subject at the provider; for email and phone the user's id. */
  readonly providerId: string
  readonly data: Readonly<Record<string, unknown>>
  /** Lower-case email of `data`, null when it has none. */
  readonly email: string | null
  readonly lastSignInAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/**
 * Since when an identity can sign in to an account. Null when the account began with the identity.
 * @param owner as they were before the sign-in
 */
export function identitySince(
  { createdAt }: Pick<Identity, 'createdAt'>,
  owner: { readonly createdAt: Timestamp; readonly lastSignInAt: Timestamp | null },
): Timestamp | null {
  const isFirst = owner.lastSignInAt === null || Date.parse(createdAt) <= Date.parse(owner.createdAt)
  return isFirst ? null : createdAt
}

/**
 * The data of a new email or phone identity (reference: Identity). Keys of `extra` never override it, and an address of the other
 * kind is left out, since nobody may claim an address by writing it into their metadata.
 */
export function ownIdentityData(
  provider: IdentifierKind,
  subject: { readonly userId: string; readonly value: string },
  extra: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { email: _email, phone: _phone, ...rest } = extra
  return {
    ...rest,
    sub: subject.userId,
    [provider]: subject.value,
    email_verified: false,
    phone_verified: false,
  }
}

/** The metadata of a column. Empty when it holds no object, as supabase/auth reads it. */
export function toMetadata(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/**
 * The identities whose email a user could adopt after their own email went with an identity, oldest first. Undefined when the
 * user's email still belongs to an identity, or when the user has none. `isVerified` tells whether an email may be adopted.
 * The email identity has the user's email, whatever its data say: SQL may have changed the user's row alone. A phone identity has
 * none.
 * @param identities the remaining ones, oldest first
 */
export function emailCandidates(
  email: string | null,
  identities: readonly Identity[],
): readonly (Identity & { readonly email: string })[] | undefined {
  const atProviders = identities.filter(({ provider }) => provider !== 'email' && provider !== 'phone')
  const isKept =
    identities.some(({ provider }) => provider === 'email') || atProviders.some((one) => one.email === email)
  return email === null || isKept ? undefined : atProviders.filter(hasEmail)
}

/** Whether this service or the provider has verified an identity's email. */
export function isVerified({ data }: Identity): boolean {
  return data.email_verified === true
}

function hasEmail(identity: Identity): identity is Identity & { readonly email: string } {
  return identity.email !== null && identity.email !== ''
}
