import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { SecurityConfig } from '../config/security.ts'
import type { AnyConfiguredProvider, Subjects } from '../external-providers/custom-provider.ts'
import type { ExternalProfile, ListedEmail } from '../external-providers/provider.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { type IdentifierKind, isEmail, normaliseEmail } from '../requests/fields.ts'

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
 * The data of a new email or phone identity (reference: Identity). Keys of `extra` never override it. An address of the other
 * kind is left out: a user must not claim an address by writing it into the metadata.
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
 * user's email still belongs to an identity, or when the user has none. `isVerified`: whether an email may be adopted. The email
 * identity has the user's email, not the email of its data: SQL may have changed the user's row alone. A phone identity has none.
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

/** An address that an external account has, normalised. */
interface ExternalEmail {
  readonly email: string
  readonly isVerified: boolean
}

export interface ExternalAccount {
  readonly provider: string
  readonly subject: string
  /** The meaning of the subject, where an admin may change it: as it was when the provider was asked. */
  readonly subjects?: Subjects
  readonly emails: readonly ExternalEmail[]
  /** The address that counts: the primary one, or the last one. Undefined if the provider sends none. */
  readonly email: ExternalEmail | undefined
  /** Whether a person without an address may have an account here. */
  readonly emailOptional: boolean
  /** Claims that the identity stores and the user's metadata take over (reference: Owner of an external account). */
  readonly data: Readonly<Record<string, unknown>>
}

/** The claims that `data` of an account may have. */
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

/** The longest subject of an account at a provider, in characters. */
export const SUBJECT_LENGTH_MAX = 512

interface AccountConfig {
  readonly security: Pick<SecurityConfig, 'assumesVerified'>
  readonly compatibility: Pick<CompatibilityOptions, 'showEmptyCustomClaims'>
}

/**
 * The account that a provider describes. An address that no form of this service accepts counts as none. Case folding beyond
 * ASCII could turn it into the address of another user. Some providers can say that an address is verified, and do not: such an
 * address counts as verified only with `assumesVerified`.
 * @throws Error without a subject
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

/** The addresses by which an account may be matched with a user, in the order of precedence: the verified addresses, or all. */
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
  // The provider could have sent custom claims, and sent none. supabase/auth then stores an empty object.
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
