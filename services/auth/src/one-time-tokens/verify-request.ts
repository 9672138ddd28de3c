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

/** A typed code with the address that got it, or the token of a link. A phone number is as it was typed. */
type VerifyRequest =
  | { readonly kind: 'code'; readonly type: VerifyType; readonly code: string; readonly identifier: UserIdentifier }
  | { readonly kind: 'link'; readonly type: VerifyType; readonly token: string }

/** Parses the body of a verification (reference: POST /verify). The order of the checks decides which error a client sees. */
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

/** The members of a link, whose type may be unknown. */
export interface ParsedLink {
  readonly type: string
  readonly token: string
}

/** Parses a link. Only these checks are answered with JSON. */
export function parseLink(fields: VerifyFields): ParsedLink {
  const token = fields.token || fields.token_hash
  const type = requireType(fields)
  if (!token) throw verifyTokenMissing()
  return { type, token }
}

/** The headers of a request, by their names in lower case. */
type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Headers by which browsers and previews say that the user has not opened the page yet. */
const PREFETCH_MARKS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['sec-purpose', /\bprefetch\b/i],
  ['purpose', /\b(prefetch|preview)\b/i],
  ['x-purpose', /\b(prefetch|preview)\b/i],
  ['x-moz', /\bprefetch\b/i],
]

/** Whether a request only prefetches a link that a user may open later. Such a request must not use the link up. */
export function isPrefetch(headers: RequestHeaders): boolean {
  return PREFETCH_MARKS.some(([name, mark]) => mark.test(String(headers[name] ?? '')))
}

/** The kind of the flow that a link belongs to. */
export function flowOfLink({ token }: Pick<ParsedLink, 'token'>): FlowKind {
  return isPkceToken(token) ? 'pkce' : 'implicit'
}

/** Whether a link may be followed: in the strict profile only links of PKCE flows, because others end in a fragment. */
export function mayFollow({ token, token_hash: tokenHash }: VerifyFields, pkce: 'optional' | 'required'): boolean {
  return pkce === 'optional' || isPkceToken(token || tokenHash || '')
}

/** Requires a link that a browser may follow. */
export function requireLinkToFollow({ type, token }: ParsedLink, pkce: 'optional' | 'required'): CheckedLink {
  if (!mayFollow({ token }, pkce)) throw linkWithoutPkce()
  return requireMailType(type, token)
}

/** A link whose type is known. */
type CheckedLink = ParsedLink & { readonly type: VerifyType }

/** Requires the type of a mail. */
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

/** The types of POST /verify. `email` is any code or link of an address. */
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

/** The kinds of message that a type accepts, before the user is known (reference: Verification types). */
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

/** Whether a type's message goes to a phone. Such a message has no link. */
export function isPhoneType(type: VerifyType): boolean {
  return type === 'sms' || type === 'phone_change'
}

/**
 * Whether a message answers a type.
 * @param owner the user who has the address; undefined for the new address of a change
 */
export function isAccepted(
  type: VerifyType,
  { kind, userId }: { readonly kind: TokenKind; readonly userId: string },
  owner: Pick<User, 'id' | 'invitedAt' | 'pendingSince' | 'confirmedAt'> | undefined,
): boolean {
  if (type === 'email_change' || type === 'phone_change') return true
  if (owner?.id !== userId) return false
  if (type === 'invite') return owner.invitedAt !== null
  // A sign-up may have taken the place of a pending sign-up since the message went out.
  return !(type === 'signup' && kind === 'recovery') || owner.pendingSince !== null || owner.confirmedAt === null
}

/** The address that a message of a kind would go to at present. A message to another address is out of date. */
export function addressFor(
  kind: TokenKind,
  user: Pick<User, 'email' | 'phone' | 'emailChange' | 'phoneChange'>,
): string | null {
  if (kind === 'email_change_new') return user.emailChange
  if (kind === 'phone_change') return user.phoneChange
  return kind === 'sms' ? user.phone : user.email
}

/** The `type` of the answer; undefined for a message to a phone (reference: Session object). */
export function answeredType(type: VerifyType, kind: TokenKind): string | undefined {
  if (isPhoneType(type)) return undefined
  if (type === 'email') return kind === 'recovery' ? 'magiclink' : 'signup'
  return type
}

/** The types of links that `POST /admin/generate_link` makes (reference: Generated links). */
export const LINK_TYPES = [
  'signup',
  'invite',
  'magiclink',
  'recovery',
  'email_change_current',
  'email_change_new',
] as const

export type LinkType = (typeof LINK_TYPES)[number]

/** How a type of link is stored and logged. */
interface LinkRule {
  /** The message whose place the link takes. */
  readonly kind: TokenKind & ('confirmation' | 'invitation' | 'recovery' | 'email_change_current' | 'email_change_new')
  /** The `type` in the link itself, which `GET /verify` takes. */
  readonly linkType: 'signup' | 'invite' | 'magiclink' | 'recovery' | 'email_change'
  /** The column of the user that holds when the link was made. */
  readonly sentAt: 'confirmation_sent_at' | 'recovery_sent_at' | 'email_change_sent_at'
  readonly action: AuditAction
  /** Whether the link makes a user for an address that nobody has. */
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

/** How each type of link is stored and logged (reference: Generated links). */
export const LINK_RULES: Readonly<Record<LinkType, LinkRule>> = {
  signup: { ...CONFIRMATION, linkType: 'signup', action: 'user_confirmation_requested' },
  invite: { ...CONFIRMATION, kind: 'invitation', linkType: 'invite', action: 'user_invited' },
  magiclink: { ...RECOVERY, linkType: 'magiclink', makesUser: true },
  recovery: { ...RECOVERY, linkType: 'recovery', makesUser: false },
  email_change_current: { ...EMAIL_CHANGE, kind: 'email_change_current' },
  email_change_new: { ...EMAIL_CHANGE, kind: 'email_change_new' },
}

/** A link and a code, which an admin sends by other means than our mail. */
export interface GeneratedLink extends Profile {
  readonly url: string
  /** The token of the link, as the link shows it. */
  readonly token: string
  readonly code: string
  /** `type` of the link. */
  readonly linkType: string
  /** The type that was made: a magic link for an unknown address becomes a sign-up. */
  readonly verificationType: LinkType
}

/** The user and the link in one object (reference: Generated links). */
export const GeneratedLinkView = UserView.extend({
  action_link: z.string(),
  email_otp: z.string(),
  hashed_token: z.string().meta({ description: 'The token in the link' }),
  verification_type: z.enum(LINK_TYPES),
  redirect_to: z.string(),
  token: z.string().optional(),
  type: z.string().optional(),
})

/** The form in which an admin sees a link. @param redirectTo where the link ends */
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
