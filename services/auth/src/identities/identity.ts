import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { SecurityConfig } from '../config/security.ts'
import type { AnyConfiguredProvider, Subjects } from '../external-providers/custom-provider.ts'
import type { ExternalProfile, ListedEmail } from '../external-providers/provider.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { type IdentifierKind, isEmail, normaliseEmail } from '../requests/fields.ts'

export interface Identity {
  /** The id of the row. In the API it is `identity_id`. */
  readonly id: string
  readonly userId: string
  /** `email`, `phone`, or the name of an external provider. */
  readonly provider: string
  /** The subject at the provider. For email and phone it is the user's id. */
  readonly providerId: string
  readonly data: Readonly<Record<string, unknown>>
  /** The lower-case email of `data`, or `null`. */
  readonly email: string | null
  readonly lastSignInAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/**
 * Returns since when an identity gives access to an account. `null` if the account began with this identity.
 * @param owner the user before the sign-in
 */
export function identitySince(
  { createdAt }: Pick<Identity, 'createdAt'>,
  owner: { readonly createdAt: Timestamp; readonly lastSignInAt: Timestamp | null },
): Timestamp | null {
  const isFirst = owner.lastSignInAt === null || Date.parse(createdAt) <= Date.parse(owner.createdAt)
  return isFirst ? null : createdAt
}

/**
 * Returns the data of a new email or phone identity (reference: Identity). `extra` never overrides them. An address of the other
 * kind is omitted, because a user must not claim an address through the metadata.
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

/** Returns the metadata of a column. Like in supabase/auth, they are empty if the column has no object. */
export function toMetadata(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/**
 * Returns the identities whose email a user could adopt after the user's own email was unlinked, oldest first. Returns
 * `undefined` if the user has no email, or if it still belongs to an identity. The email identity counts by the user's email,
 * because SQL may have changed only the user's row. A phone identity has no email.
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

/** Whether this service or the provider has verified the identity's email. */
export function isVerified({ data }: Identity): boolean {
  return data.email_verified === true
}

function hasEmail(identity: Identity): identity is Identity & { readonly email: string } {
  return identity.email !== null && identity.email !== ''
}

/** A normalised address of an external account. */
interface ExternalEmail {
  readonly email: string
  readonly isVerified: boolean
}

export interface ExternalAccount {
  readonly provider: string
  readonly subject: string
  /** The meaning of the subject when the provider was called. An admin may change it later. */
  readonly subjects?: Subjects
  readonly emails: readonly ExternalEmail[]
  /** The primary address, or else the last one. `undefined` if the provider sends none. */
  readonly email: ExternalEmail | undefined
  /** Whether a person without an address may have an account. */
  readonly emailOptional: boolean
  /** Claims that the identity and the user's metadata store (reference: Owner of an external account). */
  readonly data: Readonly<Record<string, unknown>>
}

/** The allowed claims in `data` of an account. */
export const CLAIM_NAMES: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'name',
  'full_name',
  'email',
  'email_verified',
  'phone_verified',
  'picture',
  'avatar_url',
  'user_name',
  'preferred_username',
  'nickname',
  'provider_id',
  'custom_claims',
])

/** The maximum length of a subject at a provider, in characters. */
export const SUBJECT_LENGTH_MAX = 512

interface AccountConfig {
  readonly security: Pick<SecurityConfig, 'assumesVerified'>
  readonly compatibility: Pick<CompatibilityOptions, 'showEmptyCustomClaims'>
}

/**
 * Returns the account that a provider describes. An address that this service would refuse counts as absent, because case folding
 * beyond ASCII could turn it into another user's address. If a provider can verify addresses but does not say so, an address
 * counts as verified only with `assumesVerified`.
 * @throws Error if there is no subject
 */
export function toExternalAccount(
  {
    name,
    provider,
    emailOptional,
    subjects,
  }: Pick<AnyConfiguredProvider, 'name' | 'provider' | 'emailOptional' | 'subjects'>,
  profile: ExternalProfile,
  { security: { assumesVerified }, compatibility }: AccountConfig,
): ExternalAccount {
  const { subject } = profile
  if (subject === '' || subject.length > SUBJECT_LENGTH_MAX || subject !== removeUnstorable(subject)) {
    throw new Error('the provider does not say who has signed in')
  }
  const listed = profile.emails.filter(isUsable)
  const emails = listed.map(({ email, isVerified, isAssumed = false }) => ({
    email: normaliseEmail(email),
    isVerified: isVerified && (assumesVerified || !isAssumed),
  }))
  const primary = listed.findIndex(({ isPrimary }) => isPrimary)
  const email = emails.at(primary)
  const data = toData({ ...profile, issuer: profile.issuer || provider.issuer }, email, compatibility)
  return { provider: name, subject, ...(subjects && { subjects }), emails, email, emailOptional, data }
}

/** Returns the addresses that may match the account with a user, by priority: the verified ones, or all. */
export function trustedEmails(
  { email: primary, emails }: Pick<ExternalAccount, 'email' | 'emails'>,
  trust: 'verified' | 'all',
): readonly string[] {
  const trusted = emails.filter(({ isVerified }) => isVerified || trust === 'all').map(({ email }) => email)
  return trusted.toSorted((a, b) => Number(b === primary?.email) - Number(a === primary?.email))
}

function isUsable(listed: ListedEmail): listed is ListedEmail & { readonly email: string } {
  return typeof listed.email === 'string' && isEmail(listed.email)
}

function toData(
  profile: ExternalProfile,
  email: ExternalEmail | undefined,
  { showEmptyCustomClaims }: AccountConfig['compatibility'],
): Record<string, unknown> {
  const { subject, name, picture, customClaims = {} } = profile
  const custom = withoutEmpty(customClaims)
  // The provider supports custom claims but sent none. supabase/auth then stores an empty object.
  const showsEmptyObject =
    showEmptyCustomClaims && profile.customClaims && Object.keys(profile.customClaims).length === 0
  const data = withoutEmpty({
    iss: profile.issuer,
    sub: subject,
    name,
    full_name: profile.fullName || name,
    ...(email ? { email: email.email, email_verified: email.isVerified } : {}),
    phone_verified: false,
    picture,
    avatar_url: profile.avatarUrl || picture,
    user_name: profile.userName,
    preferred_username: profile.preferredUsername,
    nickname: profile.nickname,
    provider_id: subject,
    custom_claims: Object.keys(custom).length === 0 && !showsEmptyObject ? undefined : custom,
  })
  return JSON.parse(
    JSON.stringify(data, (_key, value) => (typeof value === 'string' ? removeUnstorable(value) : value)),
  )
}

function withoutEmpty(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => !isEmpty(value)))
}

/** Removes NUL and lone surrogates, which PostgreSQL cannot store. */
function removeUnstorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}
