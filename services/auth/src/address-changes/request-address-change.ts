import { randomUUID } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { countEmailChange } from '../messages/message-request.ts'
import type { SmsAllowanceDeps } from '../messages/sms-allowance.ts'
import { takeSms } from '../messages/sms-allowance.ts'
import { deleteAnonymousChanges } from '../one-time-tokens/pending-change-repository.ts'
import { requireChangeIntervals } from '../rate-limits/change-intervals.ts'
import { type Allowance, type RateLimits, takeAllowances } from '../rate-limits/rate-limits.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { User } from '../users/user.ts'
import { type ApplyDeps, applyEmailChange, applyPhoneChange } from './apply-address-change.ts'
import { needsBothAddresses } from './email-change.ts'
import { type EmailChangeDeps, type PhoneChangeDeps, sendEmailChange, sendPhoneChange } from './send-address-change.ts'

export interface MessageAllowanceDeps extends SmsAllowanceDeps {
  readonly config: Pick<AuthConfig, 'behaviours' | 'mail' | 'sms'>
  readonly rateLimits: Pick<RateLimits, 'email' | 'sms'>
}

interface ChangeDeps extends ApplyDeps, EmailChangeDeps, PhoneChangeDeps {
  readonly config: Pick<AuthConfig, 'behaviours' | 'database' | 'jwt' | 'mail' | 'mfa' | 'signup' | 'sms'>
}

/** Addresses that a user wants, normalised, and how they are to be confirmed. */
export interface OwnAddresses {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly channel: SmsChannel
  readonly pkce: PkceChallenge | undefined
}

/** The address of a kind that a user wants and does not have; undefined when there is none. */
export function findNewAddress(user: User, wanted: OwnAddresses, kind: IdentifierKind): string | undefined {
  return wanted[kind] === user[kind] ? undefined : wanted[kind]
}

/**
 * Counts the messages of the changes, before anything else is done for them. A change that is applied at once sends no message.
 * @param limitKey the key of the client's limits
 * @throws overEmailRateLimit, overSmsRateLimit, smsProviderMissing
 */
export async function takeMessageAllowances(
  deps: MessageAllowanceDeps,
  user: User,
  wanted: OwnAddresses,
  limitKey: string | undefined,
): Promise<Allowance> {
  const { mail, sms } = deps.config
  const phone = findNewAddress(user, wanted, 'phone')
  const takes: (() => Promise<Allowance>)[] = []
  if (findNewAddress(user, wanted, 'email') !== undefined && !isAppliedAtOnce(deps, user)) {
    const mails = countEmailChange(deps.config, needsBothAddresses(user, mail) ? 'both' : 'new')
    takes.push(...Array.from({ length: mails }, () => () => deps.rateLimits.email.take(limitKey)))
  }
  if (phone !== undefined && !sms.autoconfirm) takes.push(() => takeSms(deps, phone, limitKey))
  return takeAllowances(takes)
}

interface OwnChange {
  readonly changes: OwnAddresses
  /** The session that asks; null for a token without one. */
  readonly sessionId: string | null
  readonly context: RequestContext
}

/**
 * Stores pending changes of a user's own addresses, or applies changes that need no confirmation. @param user locked
 * @throws emailExists, phoneExists, emailTooSoon, smsTooSoon
 */
export async function changeOwnAddresses(
  trx: Trx,
  deps: ChangeDeps,
  user: User,
  { changes, context, sessionId }: OwnChange,
): Promise<void> {
  const { ip } = context
  const newEmail = findNewAddress(user, changes, 'email')
  const newPhone = findNewAddress(user, changes, 'phone')
  const isEmailApplied = newEmail !== undefined && isAppliedAtOnce(deps, user)
  const isPhoneApplied = newPhone !== undefined && deps.config.sms.autoconfirm
  let current = user
  if (isEmailApplied) current = await applyEmailChange(trx, deps, user, { newEmail, ip })
  if (isPhoneApplied) current = await applyPhoneChange(trx, deps, current, { newPhone, ip })
  current = await deleteAnonymousChanges(trx, deps.config, user, current)
  if (newEmail !== undefined && !isEmailApplied) {
    await requireChangeIntervals(trx, deps, user, { kind: 'email_change', address: newEmail })
    await sendEmailChange(trx, deps, user, { newEmail, pkce: changes.pkce, context, sessionId })
  }
  if (newPhone === undefined || isPhoneApplied) return
  await requireChangeIntervals(trx, deps, user, { kind: 'sms', address: newPhone })
  const message = { newPhone, channel: changes.channel, messageId: randomUUID(), sessionId }
  await sendPhoneChange(trx, deps, current, message)
}

/** An anonymous user's first email is like a sign-up. Other users always confirm an email (reference: Anonymous users). */
function isAppliedAtOnce({ config }: Pick<MessageAllowanceDeps, 'config'>, { isAnonymous }: User): boolean {
  return isAnonymous && config.mail.autoconfirm
}
