import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { OutboxEntry } from '@trestle/jobs/outbox.ts'
import type { AuthConfig } from '../config.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { mailTask } from '../messages/mail-job.ts'
import { type MailTokenDeps, prepareMailToken } from '../messages/mail-token.ts'
import { messageRequestTask } from '../messages/message-request.ts'
import { prepareSmsCode } from '../messages/sms-code.ts'
import { smsTask } from '../messages/sms-job.ts'
import type { MessageSecrets } from '../one-time-tokens/one-time-token-repository.ts'
import { hashIntervalKey, intervalMs } from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { SignUpConfirmation } from '../sign-ups/sign-up-repository.ts'
import { toMessageRequest } from './request-message.ts'

/** What the message of a sign-up is made with. */
export interface ConfirmationDeps extends MailTokenDeps {
  readonly config: AuthConfig
  readonly jobs: Pick<Jobs, 'prepare'>
}

/** A sign-up that waits for the confirmation of its identifier. */
export interface ConfirmedSignUp {
  readonly identifier: UserIdentifier
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** Random UUIDs: of the new user, and of an SMS. */
export interface ConfirmationIds {
  readonly userId: string
  readonly messageId: string
}

/** Makes the message that confirms a new sign-up, and the request that sends it to a user who has not confirmed. Stores neither. */
export async function prepareConfirmation(
  deps: ConfirmationDeps,
  input: ConfirmedSignUp,
  ids: ConfirmationIds,
): Promise<SignUpConfirmation> {
  const { identifier, pkce, context, channel } = input
  const kind = identifier.kind === 'email' ? 'confirmation' : 'sms'
  const key = hashIntervalKey(deps, { kind, identifier: identifier.value, audience: context.audience })
  const dueBefore = new Date(deps.now().getTime() - intervalMs(deps.config, kind))
  const { secrets, message } = await prepareMessage(deps, input, ids)
  const again = toMessageRequest(deps, { purpose: 'confirmation', identifier, pkce, channel, context })
  return {
    interval: { kind, key, dueBefore },
    secrets,
    pkce,
    message,
    messageAgain: await deps.jobs.prepare(messageRequestTask, again),
  }
}

interface PreparedMessage {
  readonly secrets: MessageSecrets
  readonly message: OutboxEntry | undefined
}

async function prepareMessage(
  deps: ConfirmationDeps,
  input: ConfirmedSignUp,
  { userId, messageId }: ConfirmationIds,
): Promise<PreparedMessage> {
  const { identifier, channel, data, pkce, context } = input
  if (identifier.kind === 'phone') {
    const { secrets, sms } = prepareSmsCode(deps, {
      user: { id: userId },
      phone: identifier.value,
      tokenKind: 'sms',
      channel,
      messageId,
    })
    return { secrets, message: sms && (await deps.jobs.prepare(smsTask, sms)) }
  }
  const { secrets, mail } = prepareMailToken(deps, {
    user: { id: userId, userMetadata: data },
    email: identifier.value,
    tokenKind: 'confirmation',
    mailKind: 'CONFIRMATION',
    linkType: 'signup',
    linkPath: deps.config.mail.linkPaths.confirmation,
    flow: { method: 'email/signup', pkce },
    context,
  })
  return { secrets, message: await deps.jobs.prepare(mailTask, mail) }
}
