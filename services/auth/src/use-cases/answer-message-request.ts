import type { Outcome } from '@trestle/jobs/attempt.ts'
import { type MessageRequestDeps, sendRequested } from '../message-requests/request-message.ts'
import { countMessages, type MessageRequest, messageMedium, messageRequestTask } from '../messages/message-request.ts'
import { findTestCode } from '../messages/sms-code.ts'

/**
 * Sends the message of a request, if it has a recipient. The share of the client counts the message either way. The limit of all
 * clients gets a message back that nobody is there to get: a stranger must not use it up without a message.
 *
 * A process may die after the commit and before the queue hears of it. The next attempt then sends the message again, with a new
 * code in place of the earlier one. It sends the message of a change of address again only once the interval is over, and while
 * the address has no two valid messages. The limits do not count that message again.
 */
export async function answerMessageRequest(
  deps: MessageRequestDeps,
  request: MessageRequest,
  attempt: number,
): Promise<Outcome> {
  const send = () => deps.db.transaction().execute((trx) => sendRequested(trx, deps, request))
  if (!isExpired(deps, request) && (await send()) === 'sent') return 'done'
  // Only the first attempt gives the allowance back. An earlier attempt may have done so before its process died.
  if (attempt === 1 && isCounted(deps, request)) await returnAllowance(deps, request)
  return 'dropped'
}

async function returnAllowance(
  { config, now, rateLimits }: MessageRequestDeps,
  request: MessageRequest,
): Promise<void> {
  const messages = countMessages(request, config)
  const agoMs = now().getTime() - Date.parse(request.askedAt)
  for (let returned = 0; returned < messages; returned += 1) await rateLimits[messageMedium(request)].giveBack(agoMs)
}

/** Whether the request is older than a code lives. Nobody waits for its message any more. */
function isExpired({ config, now }: MessageRequestDeps, request: MessageRequest): boolean {
  const { codeLifetimeSeconds } = messageMedium(request) === 'email' ? config.mail : config.sms
  return now().getTime() >= Date.parse(request.askedAt) + codeLifetimeSeconds * 1_000
}

/** Whether the limits have counted the request. They do not count test phones. */
function isCounted({ config, now }: MessageRequestDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'email' || findTestCode(config.sms, value, now()) === undefined
}

/** Starts to answer queued requests for messages. */
export async function startMessageRequests(deps: MessageRequestDeps): Promise<void> {
  await deps.jobs.work(messageRequestTask, (request, { attempt }) => answerMessageRequest(deps, request, attempt))
}
