import type { Timestamp } from '../users/timestamp.ts'

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

/** What a new email or phone identity holds. Keys of `extra` never override the first four (contract 3.3). */
export function ownIdentityData(
  provider: 'email' | 'phone',
  subject: { readonly userId: string; readonly value: string },
  extra: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // jsonb keeps no order, so the place of `extra` only decides who wins.
  return {
    ...extra,
    sub: subject.userId,
    [provider]: subject.value,
    email_verified: false,
    phone_verified: false,
  }
}
