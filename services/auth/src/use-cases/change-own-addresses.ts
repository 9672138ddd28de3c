import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { sendEmailChange, sendPhoneChange } from '../messages/address-change.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { takeSms } from '../messages/sms-allowance.ts'
import type { Allowance } from '../rate-limits/rate-limits.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import { takeAll } from '../rate-limits/take-all.ts'
import type { RequestContext } from '../request-context.ts'
import { needsBoth } from '../users/email-change.ts'
import type { User } from '../users/user.ts'
import type { UserIdentifier } from '../users/user-repository.ts'
import { applyPhoneChange } from './apply-phone-change.ts'
import { applyEmailChange } from './confirm-email-change.ts'

/** Addresses that a user wants, normalised, and how they are to be confirmed. */
export interface OwnAddresses {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly channel: SmsChannel
  readonly pkce: PkceChallenge | undefined
}

/** The address of a kind that a user wants and does not have; undefined when there is none. */
export function newAddress(user: User, wanted: OwnAddresses, kind: UserIdentifier['kind']): string | undefined {
  return wanted[kind] === user[kind] ? undefined : wanted[kind]
}

/**
 * Counts the messages that the changes need, before anything is done for them. A change that is applied at once sends no
 * message, so it counts none.
 * @param client key of who asks
 * @throws overEmailRateLimit, overSmsRateLimit, smsProviderMissing
 */
export async function takeOwnMessages(
  deps: AuthDeps,
  user: User,
  wanted: OwnAddresses,
  client: string | undefined,
): Promise<Allowance> {
  const { mail, sms } = deps.config
  const phone = newAddress(user, wanted, 'phone')
  const takes: (() => Promise<Allowance>)[] = []
  if (newAddress(user, wanted, 'email') !== undefined && !isAppliedAtOnce(deps, user)) {
    const mails = needsBoth(user, mail.secureEmailChange) ? 2 : 1
    takes.push(...Array.from({ length: mails }, () => () => deps.rateLimits.email.take(client)))
  }
  if (phone !== undefined && !sms.autoconfirm) takes.push(() => takeSms(deps, phone, client))
  return takeAll(takes)
}

interface OwnChange {
  readonly changes: OwnAddresses
  readonly context: RequestContext
}

/** Makes changes of a user's own addresses pending, or applies them where they need no confirmation. @param user locked */
export async function changeOwnAddresses(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { changes, context }: OwnChange,
): Promise<void> {
  const { ip } = context
  const newEmail = newAddress(user, changes, 'email')
  const newPhone = newAddress(user, changes, 'phone')
  let current = user
  if (newEmail !== undefined && isAppliedAtOnce(deps, user)) {
    current = await applyEmailChange(trx, deps, user, { newEmail, ip })
  } else if (newEmail !== undefined) {
    // By what POST /resend knows the user by; a new address alone would let one mail go to each of any number.
    const identifier = user.email ?? user.phone ?? user.id
    await requireInterval(trx, deps, { kind: 'email_change', identifier, audience: user.aud })
    await sendEmailChange(trx, deps, user, { newEmail, pkce: changes.pkce, context })
  }
  if (newPhone === undefined) return
  if (deps.config.sms.autoconfirm) return void (await applyPhoneChange(trx, deps, current, { newPhone, ip }))
  await requireInterval(trx, deps, { kind: 'sms', identifier: newPhone, audience: user.aud })
  const message = { newPhone, channel: changes.channel, messageId: randomUUID() }
  await sendPhoneChange(trx, deps, current, message)
}

/** An anonymous user's first email is like a signup. Other users always confirm theirs (reference: Anonymous users). */
function isAppliedAtOnce({ config }: AuthDeps, { isAnonymous }: User): boolean {
  return isAnonymous && config.mail.autoconfirm
}
