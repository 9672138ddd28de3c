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

/** Kinds of message that a type may be answered from (contract 4.4), before the user is known. */
export const ACCEPTED_KINDS: Readonly<Record<VerifyType, readonly TokenKind[]>> = {
  signup: ['confirmation', 'recovery'],
  invite: ['confirmation'],
  recovery: ['recovery'],
  magiclink: ['recovery'],
  email: ['confirmation', 'recovery'],
  email_change: [],
  sms: ['sms'],
  phone_change: [],
}

export function isVerifyType(type: string): type is VerifyType {
  return VERIFY_TYPES.some((known) => known === type)
}

/** Types whose message goes to a phone; they have no link. */
export function isPhoneType(type: VerifyType): boolean {
  return type === 'sms' || type === 'phone_change'
}

/** Whether a message of a kind answers a type for this very user. */
export function isAccepted(type: VerifyType, kind: TokenKind, user: Pick<User, 'invitedAt' | 'stagedAt'>): boolean {
  if (type === 'invite') return user.invitedAt !== null
  return !(type === 'signup' && kind === 'recovery') || user.stagedAt !== null
}

/** The `type` of the answer: email-type flows alone have one (ruling R5). */
export function answeredType(type: VerifyType, kind: TokenKind): string | undefined {
  if (isPhoneType(type)) return undefined
  if (type === 'email') return kind === 'confirmation' ? 'signup' : 'magiclink'
  return type
}
