import type { User } from '../users/user.ts'
import type { TokenKind } from './one-time-token.ts'

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

/** Whether a client's text is a verification type. */
export function isVerifyType(type: string): type is VerifyType {
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
  owner: Pick<User, 'id' | 'invitedAt' | 'stagedAt' | 'confirmedAt'> | undefined,
): boolean {
  if (type === 'email_change' || type === 'phone_change') return true
  if (owner?.id !== userId) return false
  if (type === 'invite') return owner.invitedAt !== null
  // A sign-up may have taken the place of a staged user since the message went out.
  return !(type === 'signup' && kind === 'recovery') || owner.stagedAt !== null || owner.confirmedAt === null
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
