import { randomUUID } from 'node:crypto'
import type { PkceChallenge } from '../flows/pkce.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { isSentInRequest, runHooked } from '../messages/hooked-transaction.ts'
import { type MailJob, mailTask, queueMail } from '../messages/mail-job.ts'
import { prepareMailToken } from '../messages/mail-token.ts'
import { describeMail, describeSms } from '../messages/message-record.ts'
import { messageRequestTask } from '../messages/message-request.ts'
import { prepareSmsCode } from '../messages/sms-code.ts'
import { queueSms, type SmsJob, smsTask } from '../messages/sms-job.ts'
import type { MessageSecrets } from '../one-time-tokens/one-time-token-repository.ts'
import { confirmationInterval, hashIntervalKey, intervalMs } from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import {
  type InsertSignUp,
  insertSignUpWithin,
  type SignUp,
  type SignUpOutcome,
} from '../sign-ups/sign-up-repository.ts'
import { type MessageRequestDeps, toMessageRequest } from './request-message.ts'
import { sendRequested } from './send-requested.ts'

/** The dependencies of a sign-up whose identifier has to be confirmed. */
export interface ConfirmationDeps extends MessageRequestDeps {
  readonly insertSignUp: InsertSignUp
}

/** A sign-up that waits for the confirmation of its identifier. */
export interface ConfirmedSignUp {
  readonly identifier: UserIdentifier
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/**
 * Stores a sign-up with the message that confirms it, or with the request that sends the message to a user who has not confirmed.
 * @throws what `InsertSignUp` and `runHooked` throw
 */
export async function insertUnconfirmed(
  deps: ConfirmationDeps,
  signUp: Omit<SignUp, 'confirmation'>,
  input: ConfirmedSignUp,
): Promise<SignUpOutcome> {
  const { identifier, pkce, context, channel } = input
  const interval = confirmationInterval(identifier, context)
  const { kind } = interval
  const { secrets, mail, sms } = prepareMessage(deps, input, signUp.userId)
  const again = toMessageRequest(deps, { purpose: 'confirmation', identifier, pkce, channel, context })
  const dueBefore = new Date(deps.now().getTime() - intervalMs(deps.config, kind))
  const confirmation = {
    interval: { kind, key: hashIntervalKey(deps, interval), dueBefore },
    secrets,
    pkce,
    message: undefined,
    messageAgain: undefined,
  } as const
  if (!isSentInRequest(deps, identifier.kind === 'email' ? 'email' : 'sms')) {
    const message = mail
      ? { ...(await deps.jobs.prepare(mailTask, mail)), message: describeMail(mail) }
      : sms && { ...(await deps.jobs.prepare(smsTask, sms)), message: describeSms(sms) }
    const messageAgain = await deps.jobs.prepare(messageRequestTask, again)
    return deps.insertSignUp({ ...signUp, confirmation: { ...confirmation, message, messageAgain } })
  }
  return runHooked(deps, async (trx, repeatable) => {
    const outcome = await insertSignUpWithin(trx, { ...signUp, confirmation })
    const { verdict } = outcome
    if (verdict === 'sent' || verdict === 'sent-again') repeatable.recordInterval?.(interval)
    if (verdict === 'sent-again') await sendRequested(trx, repeatable, again)
    if (verdict === 'sent' && mail) await queueMail(trx, repeatable, mail)
    if (verdict === 'sent' && sms) await queueSms(trx, repeatable, sms)
    return outcome
  })
}

interface PreparedMessage {
  readonly secrets: MessageSecrets
  readonly mail?: MailJob
  /** Undefined for a test phone, to which nothing is sent. */
  readonly sms?: SmsJob | undefined
}

function prepareMessage(deps: ConfirmationDeps, input: ConfirmedSignUp, userId: string): PreparedMessage {
  const { identifier, channel, data, pkce, context } = input
  if (identifier.kind === 'phone') {
    return prepareSmsCode(deps, {
      user: { id: userId },
      phone: identifier.value,
      tokenKind: 'sms',
      channel,
      messageId: randomUUID(),
    })
  }
  return prepareMailToken(deps, {
    user: { id: userId, userMetadata: data },
    email: identifier.value,
    tokenKind: 'confirmation',
    mailKind: 'CONFIRMATION',
    linkType: 'signup',
    linkPath: deps.config.mail.linkPaths.confirmation,
    flow: { method: 'email/signup', pkce },
    context,
  })
}
