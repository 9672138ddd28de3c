import type { Behaviours } from '../config/behaviours.ts'
import type { IdentifierKind } from '../requests/identifier.ts'

/** The settings that decide whether the service writes into the metadata of users. */
export interface AddressMetadataConfig {
  readonly behaviours: Pick<Behaviours, 'copyAddressToUserMetadata'>
}

type Metadata = Readonly<Record<string, unknown>>

/** An address by which a user signs up. */
export interface SignUpAddress {
  readonly kind: IdentifierKind
  readonly value: string
  readonly userId: string
  readonly isVerified: boolean
}

/**
 * The metadata of a user who signs up by an address. Where it says whom it belongs to, these members replace what the request has
 * sent. That a phone is verified is never written.
 */
export function signUpMetadata(
  { behaviours }: AddressMetadataConfig,
  data: Metadata,
  { kind, value, userId, isVerified }: SignUpAddress,
): Metadata {
  if (!behaviours.copyAddressToUserMetadata) return data
  const email = kind === 'email' ? { email: value } : {}
  return { ...data, sub: userId, ...email, email_verified: kind === 'email' && isVerified, phone_verified: false }
}

/** The metadata of a user after an address of theirs was confirmed. */
export function confirmedMetadata(
  { behaviours }: AddressMetadataConfig,
  metadata: Metadata,
  kind: IdentifierKind,
): Record<string, unknown> {
  return behaviours.copyAddressToUserMetadata && kind === 'email'
    ? { ...metadata, email_verified: true }
    : { ...metadata }
}
