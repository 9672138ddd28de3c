import { storedJsonBytes } from '@trestle/common/documents/stored-json.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { consoleRoleReserved } from '../errors.ts'
import { metadataTooLarge } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/fields.ts'

/** Metadata in a body or an answer: any names, any JSON. */
export const Metadata = z.record(z.string(), z.unknown())

export type Metadata = Readonly<z.output<typeof Metadata>>

/** The part of the configuration that bounds metadata, in bytes of JSON with numbers written out. */
export interface MetadataRules {
  readonly compatibility: Pick<CompatibilityOptions, 'metadataBytesMax'>
}

export interface UserMetadata {
  readonly userMetadata: Metadata
  readonly appMetadata: Metadata
}

/** The metadata of a user who is new. */
export const NO_METADATA: UserMetadata = { userMetadata: {}, appMetadata: {} }

/** Metadata enters the access token, so its size is bounded. @param beside the other metadata of the user, where it is known */
export function requireMetadata(
  { compatibility: { metadataBytesMax: max } }: MetadataRules,
  data: Metadata | undefined,
  beside: Metadata = {},
): Metadata {
  if (data === undefined) return {}
  requireSize(max, NO_METADATA, { userMetadata: data, appMetadata: beside })
  return data
}

/**
 * Merges changes into the metadata of a user, key by key. Null deletes a key (reference: Metadata).
 * @param stored the metadata of the user, of a new user none
 */
export function mergeMetadata(
  { compatibility: { metadataBytesMax: max } }: MetadataRules,
  stored: UserMetadata,
  { userMetadata, appMetadata }: { readonly [Name in keyof UserMetadata]?: Metadata | undefined },
): Record<keyof UserMetadata, Record<string, unknown>> {
  const merged = {
    userMetadata: merge(stored.userMetadata, userMetadata),
    appMetadata: merge(stored.appMetadata, appMetadata),
  }
  requireSize(max, stored, merged)
  return merged
}

/**
 * Merges the claims of a provider into the `user_metadata` of a user (reference: Owner of an external account).
 * Claims that do not fit are left out, the longest first, so that the sign-in goes on.
 */
export function mergeClaims(
  { compatibility: { metadataBytesMax: max } }: MetadataRules,
  stored: UserMetadata,
  claims: Metadata,
): { readonly merged: Record<string, unknown>; readonly leftOut: readonly string[] } {
  const { userMetadata, appMetadata } = stored
  const isNew = ([name, value]: readonly [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(userMetadata[name])
  const longest = Object.entries(claims)
    .filter(isNew)
    .toSorted((a, b) => storedJsonBytes(b) - storedJsonBytes(a))
  const mergeFrom = (first: number) => merge(userMetadata, Object.fromEntries(longest.slice(first)))
  const fits = (_claim: unknown, first: number) =>
    mayBecome(max, { userMetadata, appMetadata }, { userMetadata: mergeFrom(first), appMetadata })
  const found = longest.findIndex(fits)
  const first = found === -1 ? longest.length : found
  return { merged: mergeFrom(first), leftOut: longest.slice(0, first).map(([name]) => name) }
}

function merge(stored: Metadata, changes: Metadata | undefined): Record<string, unknown> {
  const merged = Object.entries({ ...stored, ...changes })
  return Object.fromEntries(merged.filter(([, value]) => value !== null))
}

function requireSize(max: number, stored: UserMetadata, merged: UserMetadata): void {
  if (!mayBecome(max, stored, merged)) throw metadataTooLarge({ max })
}

/** Whether metadata fits, or is at least no larger than before: rows of others may be above the limit. */
function mayBecome(max: number, stored: UserMetadata, merged: UserMetadata): boolean {
  const bytes = ({ userMetadata, appMetadata }: UserMetadata) =>
    storedJsonBytes(userMetadata) + storedJsonBytes(appMetadata)
  return bytes(merged) <= max || bytes(merged) <= bytes(stored)
}

/** The member of `app_metadata` that shows the console role of an operator. */
const CONSOLE_ROLE = 'console_role'

/** Metadata without a console role: a role that was written there is not valid. */
export function withoutConsoleRole(metadata: Metadata): Metadata {
  if (!(CONSOLE_ROLE in metadata)) return metadata
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== CONSOLE_ROLE))
}

/**
 * The changes of `app_metadata` that an admin may make. A client may send back the console role that it has read.
 * @param consoleRole the console role of the user, null for none
 */
export function requireOwnConsoleRole(changes: Metadata, consoleRole: OperatorRole | null): Metadata {
  const { [CONSOLE_ROLE]: wanted = consoleRole } = changes
  if (wanted !== consoleRole) throw consoleRoleReserved()
  return withoutConsoleRole(changes)
}

/** The settings that decide whether the service writes into the metadata of users. */
export interface AddressMetadataConfig {
  readonly compatibility: Pick<CompatibilityOptions, 'copyAddressToUserMetadata'>
}

interface SignUpAddress {
  readonly kind: IdentifierKind
  readonly value: string
  readonly userId: string
  readonly isVerified: boolean
}

/**
 * The metadata of a user who signs up by an address. If the metadata has the address, its members replace the members of the
 * request. That a phone is verified is never written.
 */
export function signUpMetadata(
  { compatibility }: AddressMetadataConfig,
  data: Readonly<Record<string, unknown>>,
  { kind, value, userId, isVerified }: SignUpAddress,
): Readonly<Record<string, unknown>> {
  if (!compatibility.copyAddressToUserMetadata) return data
  const email = kind === 'email' ? { email: value } : {}
  return { ...data, sub: userId, ...email, email_verified: kind === 'email' && isVerified, phone_verified: false }
}

/** The metadata of a user after the confirmation of an address. */
export function confirmedMetadata(
  { compatibility }: AddressMetadataConfig,
  metadata: Readonly<Record<string, unknown>>,
  kind: IdentifierKind,
): Record<string, unknown> {
  return compatibility.copyAddressToUserMetadata && kind === 'email'
    ? { ...metadata, email_verified: true }
    : { ...metadata }
}
