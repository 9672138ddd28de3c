import type { Behaviours } from '../config/behaviours.ts'
import type { SecurityConfig } from '../config/security.ts'
import type { AnyConfiguredProvider } from '../external-providers/configured-provider.ts'
import type { ExternalProfile, ListedEmail } from '../external-providers/provider.ts'
import type { Subjects } from '../external-providers/subjects.ts'
import { isEmail, normaliseEmail } from '../requests/identifier.ts'

/** An address that an external account has, normalised. */
export interface ExternalEmail {
  readonly email: string
  readonly isVerified: boolean
}

/** An account at an external provider. */
export interface ExternalAccount {
  readonly provider: string
  readonly subject: string
  /** The meaning of the subject, where an admin may change it: as it was when the provider was asked. */
  readonly subjects?: Subjects
  readonly emails: readonly ExternalEmail[]
  /** The address that counts: the primary one, else the last. Undefined where the provider tells none. */
  readonly email: ExternalEmail | undefined
  /** Whether somebody without an address may have an account here. */
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

/** How accounts at providers are read. */
export interface AccountConfig {
  readonly security: Pick<SecurityConfig, 'assumesVerified'>
  readonly behaviours: Pick<Behaviours, 'showEmptyCustomClaims'>
}

/**
 * The account that a provider describes. An address that no form of this service accepts counts as none, because case folding
 * beyond ASCII could turn it into the address of another user. Some providers can say that an address is verified, and do not:
 * such an address counts as verified only with `assumesVerified`.
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
  { security: { assumesVerified }, behaviours }: AccountConfig,
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
  const data = toData({ ...profile, issuer: profile.issuer || provider.issuer }, email, behaviours)
  return { provider: name, subject, ...(subjects && { subjects }), emails, email, emailOptional, data }
}

/** The addresses by which an account may be matched with a user, the one that counts first: the verified addresses, or all. */
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
  { showEmptyCustomClaims }: AccountConfig['behaviours'],
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
