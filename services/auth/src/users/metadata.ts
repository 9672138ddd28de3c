import { storedJsonBytes } from '@trestle/common/documents/stored-json.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { consoleRoleReserved } from '../errors.ts'
import { metadataTooLarge } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/fields.ts'

/** Metadata in a body or an answer: any names with any JSON values. */
export const Metadata = z.record(z.string(), z.unknown())

export type Metadata = Readonly<z.output<typeof Metadata>>

/** The limit of metadata, in bytes of JSON with numbers written out. */
export interface MetadataRules {
  readonly compatibility: Pick<CompatibilityOptions, 'metadataBytesMax'>
}

export interface UserMetadata {
  readonly userMetadata: Metadata
  readonly appMetadata: Metadata
}

/** The metadata of a new user. */
export const NO_METADATA: UserMetadata = { userMetadata: {}, appMetadata: {} }

/** Checks the size of metadata, because access tokens contain it. @param beside the user's other metadata, if known */
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
 * Merges changes into the metadata of a user, key by key. `null` deletes a key (reference: Metadata).
 * @param stored the user's metadata; empty for a new user
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
 * Merges a provider's claims into a user's `user_metadata` (reference: Owner of an external account). Omits claims that do not
 * fit, the longest first, so that the sign-in can continue.
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

/** Whether metadata fits, or is not larger than before. Rows of other programs may exceed the limit. */
function mayBecome(max: number, stored: UserMetadata, merged: UserMetadata): boolean {
  const bytes = ({ userMetadata, appMetadata }: UserMetadata) =>
    storedJsonBytes(userMetadata) + storedJsonBytes(appMetadata)
  return bytes(merged) <= max || bytes(merged) <= bytes(stored)
}

/** The member of `app_metadata` that shows an operator's console role. */
const CONSOLE_ROLE = 'console_role'

/** Removes a console role from metadata. A role that is stored there is not valid. */
export function withoutConsoleRole(metadata: Metadata): Metadata {
  if (!(CONSOLE_ROLE in metadata)) return metadata
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== CONSOLE_ROLE))
}

/**
 * Returns an admin's permitted changes of `app_metadata`. A client may send back the console role that it has read.
 * @param consoleRole the user's console role, or `null`
 */
export function requireOwnConsoleRole(changes: Metadata, consoleRole: OperatorRole | null): Metadata {
  const { [CONSOLE_ROLE]: wanted = consoleRole } = changes
  if (wanted !== consoleRole) throw consoleRoleReserved()
  return withoutConsoleRole(changes)
}

/** The setting that decides whether the service writes addresses into user metadata. */
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
 * Returns the metadata of a user who signs up with an address. If it includes the address, those members override the request's
 * members. It never says that a phone is verified.
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

/** Returns a user's metadata after an address was confirmed. */
export function confirmedMetadata(
  { compatibility }: AddressMetadataConfig,
  metadata: Readonly<Record<string, unknown>>,
  kind: IdentifierKind,
): Record<string, unknown> {
  return compatibility.copyAddressToUserMetadata && kind === 'email'
    ? { ...metadata, email_verified: true }
    : { ...metadata }
}
