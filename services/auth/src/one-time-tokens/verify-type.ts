import type { User } from '../users/user.ts'
import type { TokenKind } from './one-time-token.ts'

/** What POST /verify may be asked for. `email` is any code or link of an address. */
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

export type VerifyType = (typeof VERIFY_TYPES)[number]

/** Kinds of message that a type accepts, before the user is known (reference: Verification types). */
export const ACCEPTED_KINDS: Readonly<Record<VerifyType, readonly TokenKind[]>> = {
  signup: ['confirmation', 'recovery'],
  invite: ['confirmation'],
  recovery: ['recovery'],
  magiclink: ['recovery'],
  email: ['confirmation', 'recovery'],
  email_change: ['email_change_new', 'email_change_current'],
  sms: ['sms'],
  phone_change: ['phone_change'],
}

export function isVerifyType(type: string): type is VerifyType {
  return VERIFY_TYPES.some((known) => known === type)
}

/** Types whose message goes to a phone; they have no link. */
export function isPhoneType(type: VerifyType): boolean {
  return type === 'sms' || type === 'phone_change'
}

/**
 * Whether a message answers a type.
 * @param owner who has the address now: nobody yet for the new address of a change
 */
export function isAccepted(
  type: VerifyType,
  { kind, userId }: { readonly kind: TokenKind; readonly userId: string },
  owner: Pick<User, 'id' | 'invitedAt' | 'stagedAt'> | undefined,
): boolean {
  if (type === 'email_change' || type === 'phone_change') return true
  if (owner?.id !== userId) return false
  if (type === 'invite') return owner.invitedAt !== null
  return !(type === 'signup' && kind === 'recovery') || owner.stagedAt !== null
}

/** Where a message of a kind goes, as things stand now. One that went elsewhere was overtaken by a change of address. */
export function addressFor(
  kind: TokenKind,
  user: Pick<User, 'email' | 'phone' | 'emailChange' | 'phoneChange'>,
): string | null {
  if (kind === 'email_change_new') return user.emailChange
  if (kind === 'phone_change') return user.phoneChange
  return kind === 'sms' ? user.phone : user.email
}

/** The `type` of the answer: only email-type flows have one (reference: Session object). */
export function answeredType(type: VerifyType, kind: TokenKind): string | undefined {
  if (isPhoneType(type)) return undefined
  if (type === 'email') return kind === 'confirmation' ? 'signup' : 'magiclink'
  return type
}
