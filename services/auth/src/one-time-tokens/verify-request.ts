import { z } from 'zod'
import type { AuditAction } from '../audit/audit-log.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { linkWithoutPkce } from '../errors.ts'
import type { FlowKind } from '../flows/pkce.ts'
import {
  badEmailAtVerify,
  mailTypeUnsupported,
  tokenHashNotAlone,
  twoAddressesAtVerify,
  verifyTokenMissing,
  verifyTokenUnclear,
  verifyTypeMissing,
  verifyTypeUnsupported,
} from '../request-errors.ts'
import { isEmail, normaliseEmail, readCode, type UserIdentifier } from '../requests/fields.ts'
import type { Profile } from '../users/profile-repository.ts'
import type { User } from '../users/user.ts'
import { UserView, viewUser } from '../users/user-view.ts'
import { isPkceToken, type TokenKind } from './one-time-token.ts'

/** The body of POST /verify, or the query of GET /verify. */
export interface VerifyFields {
  readonly type?: string | undefined
  readonly token?: string | undefined
  readonly token_hash?: string | undefined
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly redirect_to?: string | undefined
}

/** A typed code with its recipient, or a link token. A phone number is in the form in which it was typed. */
type VerifyRequest =
  | { readonly kind: 'code'; readonly type: VerifyType; readonly code: string; readonly identifier: UserIdentifier }
  | { readonly kind: 'link'; readonly type: VerifyType; readonly token: string }

/** Parses the body of a verification (reference: POST /verify). The order of the checks decides the error. */
export function parseVerifyBody(body: VerifyFields): VerifyRequest {
  const { token, token_hash: tokenHash, email, phone } = body
  const type = requireType(body)
  if (Boolean(token) === Boolean(tokenHash)) throw verifyTokenUnclear()
  if (token && ((email && phone) || (isVerifyType(type) && isPhoneType(type) && !phone))) throw twoAddressesAtVerify()
  if (tokenHash && (email || phone || body.redirect_to)) throw tokenHashNotAlone()
  if (!token || !(email || phone)) return { kind: 'link', ...requireMailType(type, token || tokenHash || '') }
  if (!isVerifyType(type)) throw verifyTypeUnsupported()
  return { kind: 'code', type, code: readCode(token), identifier: toIdentifier(email, phone) }
}

/** The parameters of a link. Its type may be unknown. */
export interface ParsedLink {
  readonly type: string
  readonly token: string
}

/** Parses a link. Only these checks respond with JSON. */
export function parseLink(fields: VerifyFields): ParsedLink {
  const token = fields.token || fields.token_hash
  const type = requireType(fields)
  if (!token) throw verifyTokenMissing()
  return { type, token }
}

type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Headers with which browsers and previews say that the user has not opened the page yet. */
const PREFETCH_MARKS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['sec-purpose', /\bprefetch\b/i],
  ['purpose', /\b(prefetch|preview)\b/i],
  ['x-purpose', /\b(prefetch|preview)\b/i],
  ['x-moz', /\bprefetch\b/i],
]

/** Whether a request only prefetches a link. It must not use the link up, because the user may open it later. */
export function isPrefetch(headers: RequestHeaders): boolean {
  return PREFETCH_MARKS.some(([name, mark]) => mark.test(String(headers[name] ?? '')))
}

export function flowOfLink({ token }: Pick<ParsedLink, 'token'>): FlowKind {
  return isPkceToken(token) ? 'pkce' : 'implicit'
}

/** Whether a browser may follow a link. The strict profile allows only PKCE links, because others end in a fragment. */
export function mayFollow({ token, token_hash: tokenHash }: VerifyFields, pkce: 'optional' | 'required'): boolean {
  return pkce === 'optional' || isPkceToken(token || tokenHash || '')
}

export function requireLinkToFollow({ type, token }: ParsedLink, pkce: 'optional' | 'required'): CheckedLink {
  if (!mayFollow({ token }, pkce)) throw linkWithoutPkce()
  return requireMailType(type, token)
}

/** A link with a known type. */
type CheckedLink = ParsedLink & { readonly type: VerifyType }

function requireMailType(type: string, token: string): CheckedLink {
  if (!isVerifyType(type) || isPhoneType(type)) throw mailTypeUnsupported()
  return { type, token }
}

function requireType({ type }: VerifyFields): string {
  if (!type) throw verifyTypeMissing()
  return type
}

function toIdentifier(email: string | undefined, phone: string | undefined): UserIdentifier {
  if (!email) return { kind: 'phone', value: phone ?? '' }
  if (!isEmail(email)) throw badEmailAtVerify()
  return { kind: 'email', value: normaliseEmail(email) }
}

/** The types of POST /verify. `email` stands for any code or link of an address. */
export const VERIFY_TYPES = [
  'signup',
  'invite',
  'recovery',
  'magiclink',
  'email',
  'email_change',
  'sms',
  'phone_change',
] as const

/** The `type` of `POST /verify` (reference: Verification types). */
export type VerifyType = (typeof VERIFY_TYPES)[number]

/** The kinds of message that a type accepts before the user is known (reference: Verification types). */
export const ACCEPTED_KINDS: Readonly<Record<VerifyType, readonly TokenKind[]>> = {
  signup: ['confirmation', 'invitation', 'recovery'],
  invite: ['confirmation', 'invitation'],
  recovery: ['recovery'],
  magiclink: ['recovery'],
  email: ['confirmation', 'invitation', 'recovery'],
  email_change: ['email_change_new', 'email_change_current'],
  sms: ['sms'],
  phone_change: ['phone_change'],
}

function isVerifyType(type: string): type is VerifyType {
  return VERIFY_TYPES.some((known) => known === type)
}

/** Whether a type is for messages to a phone, which have no link. */
export function isPhoneType(type: VerifyType): boolean {
  return type === 'sms' || type === 'phone_change'
}

/**
 * Whether a message matches a type.
 * @param owner the user who has the address, or `undefined` for the new address of a change
 */
export function isAccepted(
  type: VerifyType,
  { kind, userId }: { readonly kind: TokenKind; readonly userId: string },
  owner: Pick<User, 'id' | 'invitedAt' | 'pendingSince' | 'confirmedAt'> | undefined,
): boolean {
  if (type === 'email_change' || type === 'phone_change') return true
  if (owner?.id !== userId) return false
  if (type === 'invite') return owner.invitedAt !== null
  // Since the message was sent, a sign-up may have replaced a pending sign-up.
  return !(type === 'signup' && kind === 'recovery') || owner.pendingSince !== null || owner.confirmedAt === null
}

/** The current recipient for a kind of message. A message to another address is outdated. */
export function addressFor(
  kind: TokenKind,
  user: Pick<User, 'email' | 'phone' | 'emailChange' | 'phoneChange'>,
): string | null {
  if (kind === 'email_change_new') return user.emailChange
  if (kind === 'phone_change') return user.phoneChange
  return kind === 'sms' ? user.phone : user.email
}

/** The `type` of the response. `undefined` for a message to a phone (reference: Session object). */
export function answeredType(type: VerifyType, kind: TokenKind): string | undefined {
  if (isPhoneType(type)) return undefined
  if (type === 'email') return kind === 'recovery' ? 'magiclink' : 'signup'
  return type
}

/** The link types of `POST /admin/generate_link` (reference: Generated links). */
export const LINK_TYPES = [
  'signup',
  'invite',
  'magiclink',
  'recovery',
  'email_change_current',
  'email_change_new',
] as const

export type LinkType = (typeof LINK_TYPES)[number]

/** How a link type is stored and logged. */
interface LinkRule {
  /** The kind of message that the link replaces. */
  readonly kind: TokenKind & ('confirmation' | 'invitation' | 'recovery' | 'email_change_current' | 'email_change_new')
  /** The `type` in the link, for `GET /verify`. */
  readonly linkType: 'signup' | 'invite' | 'magiclink' | 'recovery' | 'email_change'
  /** The user's column with the creation time of the link. */
  readonly sentAt: 'confirmation_sent_at' | 'recovery_sent_at' | 'email_change_sent_at'
  readonly action: AuditAction
  /** Whether the link creates a user for an unused address. */
  readonly makesUser: boolean
}

const CONFIRMATION = { kind: 'confirmation', sentAt: 'confirmation_sent_at', makesUser: true } as const
const RECOVERY = { kind: 'recovery', sentAt: 'recovery_sent_at', action: 'user_recovery_requested' } as const
const EMAIL_CHANGE = {
  linkType: 'email_change',
  sentAt: 'email_change_sent_at',
  action: 'user_modified',
  makesUser: false,
} as const

/** How each link type is stored and logged (reference: Generated links). */
export const LINK_RULES: Readonly<Record<LinkType, LinkRule>> = {
  signup: { ...CONFIRMATION, linkType: 'signup', action: 'user_confirmation_requested' },
  invite: { ...CONFIRMATION, kind: 'invitation', linkType: 'invite', action: 'user_invited' },
  magiclink: { ...RECOVERY, linkType: 'magiclink', makesUser: true },
  recovery: { ...RECOVERY, linkType: 'recovery', makesUser: false },
  email_change_current: { ...EMAIL_CHANGE, kind: 'email_change_current' },
  email_change_new: { ...EMAIL_CHANGE, kind: 'email_change_new' },
}

/** A link and a code that an admin sends without the service's mail. */
export interface GeneratedLink extends Profile {
  readonly url: string
  /** The token in the link. */
  readonly token: string
  readonly code: string
  /** The `type` in the link. */
  readonly linkType: string
  /** The actual type: a magic link for an unknown address becomes a sign-up. */
  readonly verificationType: LinkType
}

/** The user and the link as one object (reference: Generated links). */
export const GeneratedLinkView = UserView.extend({
  action_link: z.string(),
  email_otp: z.string(),
  hashed_token: z.string().meta({ description: 'The token in the link' }),
  verification_type: z.enum(LINK_TYPES),
  redirect_to: z.string(),
  token: z.string().optional(),
  type: z.string().optional(),
})

/** The JSON of a link for an admin. @param redirectTo the target of the link */
export function viewGeneratedLink(
  link: GeneratedLink,
  redirectTo: string,
  compatibility: Pick<CompatibilityOptions, 'keepSentTimesOfChanges' | 'showGeneratedLinkToken'>,
): z.output<typeof GeneratedLinkView> {
  const { url: action_link, code: email_otp, token, verificationType: verification_type, linkType: type } = link
  const secrets = { action_link, email_otp, hashed_token: token, verification_type }
  const tokenMembers = compatibility.showGeneratedLinkToken ? { token, type } : {}
  return { ...viewUser(link, compatibility), ...secrets, redirect_to: redirectTo, ...tokenMembers }
}
