import { randomUUID } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'
import {
  countOf,
  type MessagePurpose,
  type MessageRequest,
  mediumOf,
  messageRequestTask,
} from '../messages/message-request.ts'
import type { Allowance } from '../rate-limits/rate-limits.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import type { ThrottleKind } from '../rate-limits/send-throttle.ts'
import { countSms } from '../rate-limits/sms-allowance.ts'
import { takeAll } from '../rate-limits/take-all.ts'
import { findTestCode } from '../messages/test-code.ts'
import type { UserIdentifier } from '../users/user-repository.ts'
import { sendRequested } from './answer-message-request.ts'
import type { RequestContext } from './request-context.ts'

export interface MessageWish extends Pick<MessageRequest, 'purpose' | 'identifier' | 'pkce' | 'stage' | 'channel'> {
  readonly context: Pick<RequestContext, 'audience' | 'redirectTo' | 'linkBase' | 'ip' | 'limitKey'>
}

/**
 * Takes a request for a message. Whether there is a user is not looked at here: for an address that nobody has the same
 * limits are judged and the same is queued (reference: Enumeration and timing). A missing SMS gateway shows when the
 * message is to be sent: the answer must be that of an unknown number.
 * @returns our id of the message
 * @throws overEmailRateLimit, overSmsRateLimit
 */
export async function requestMessage(deps: AuthDeps, wish: MessageWish): Promise<string> {
  const { purpose, identifier } = wish
  const request = toMessageRequest(deps, wish)
  const allowance = await takeAllowance(deps, request, wish.context.limitKey)
  try {
    await deps.db.transaction().execute(async (trx) => {
      const { audience } = request
      const kind = intervalKind(purpose, identifier)
      await requireInterval(trx, deps, { kind, identifier: identifier.value, audience })
      if (isKnownBefore(deps, request)) await sendRequested(trx, deps, request)
      else await deps.jobs.send(trx, messageRequestTask, request)
    })
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
  return request.messageId
}

/**
 * Whether the message is to a phone of SMS_TEST_OTP. Whoever tests knows its code before it is sent, so the code must be good
 * when the request is answered. Such a phone has no owner from whom its account is to be hidden.
 */
function isKnownBefore({ config, now }: AuthDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'phone' && findTestCode(config.sms, value, now()) !== undefined
}

/** The request as it is queued. */
export function toMessageRequest({ now }: Pick<AuthDeps, 'now'>, { context, ...wish }: MessageWish): MessageRequest {
  const { audience, redirectTo, linkBase, ip } = context
  return { ...wish, audience, redirectTo, linkBase, ip, messageId: randomUUID(), askedAt: now().toISOString() }
}

function takeAllowance(deps: AuthDeps, request: MessageRequest, client: string | undefined): Promise<Allowance> {
  if (mediumOf(request) === 'email') {
    const mails = countOf(request, deps.config.mail.secureEmailChange)
    return takeAll(Array.from({ length: mails }, () => () => deps.rateLimits.email.take(client)))
  }
  // A change of phone goes to a number that only the user's row knows.
  return countSms(deps, request.identifier.kind === 'phone' ? request.identifier.value : '', client)
}

function intervalKind(purpose: MessagePurpose, { kind }: UserIdentifier): ThrottleKind {
  if (purpose === 'magiclink') return 'recovery'
  if (purpose === 'phone_change') return 'sms'
  if (purpose === 'confirmation') return kind === 'email' ? 'confirmation' : 'sms'
  return purpose
}
