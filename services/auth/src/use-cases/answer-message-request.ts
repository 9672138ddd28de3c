import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import {
  countOf,
  type MessagePurpose,
  type MessageRequest,
  mediumOf,
  messageRequestTask,
} from '../messages/message-request.ts'
import { findTestCode } from '../messages/test-code.ts'
import { resendEmailChange, resendPhoneChange } from './resend-change.ts'
import { resendConfirmation } from './resend-confirmation.ts'
import { sendMagicLink } from './send-magic-link.ts'
import { sendRecovery } from './send-recovery.ts'

/** Does what a purpose asks for. @returns whether a message is sent */
type Answer = (trx: Transaction<AuthDatabase>, deps: AuthDeps, request: MessageRequest) => Promise<boolean>

const ANSWERS: Readonly<Record<MessagePurpose, Answer>> = {
  magiclink: sendMagicLink,
  recovery: sendRecovery,
  confirmation: resendConfirmation,
  email_change: resendEmailChange,
  phone_change: resendPhoneChange,
}

/** Takes requests for messages from the queue. */
export async function workOnMessageRequests(deps: AuthDeps): Promise<void> {
  await deps.jobs.work(messageRequestTask, (request, { attempt }) => answerMessageRequest(deps, request, attempt))
}

/**
 * Sends what somebody has asked for, if there is a user whom it concerns. The message counts either way: were it given back
 * where there is nobody, then the next 429 would tell who has an account.
 */
export async function answerMessageRequest(deps: AuthDeps, request: MessageRequest, attempt: number): Promise<Outcome> {
  if (isOver(deps, request)) {
    // Only the first attempt gives it back: an earlier one may have done so, and then have been killed.
    if (attempt === 1 && isCounted(deps, request)) await giveBack(deps, request)
    return 'dropped'
  }
  const isSent = await deps.db.transaction().execute((trx) => sendRequested(trx, deps, request))
  return isSent ? 'done' : 'dropped'
}

/** Sends what somebody has asked for, in the transaction of the request. @returns whether a message is sent */
export function sendRequested(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  return ANSWERS[request.purpose](trx, deps, request)
}

async function giveBack({ config, rateLimits }: AuthDeps, request: MessageRequest): Promise<void> {
  const messages = countOf(request, config.mail.secureEmailChange)
  for (let given = 0; given < messages; given += 1) await rateLimits[mediumOf(request)].giveBack()
}

/** Nobody waits any more for a message that was asked for longer ago than a code lives. */
function isOver({ config, now }: AuthDeps, request: MessageRequest): boolean {
  const { codeLifetimeSeconds } = mediumOf(request) === 'email' ? config.mail : config.sms
  return now().getTime() >= Date.parse(request.askedAt) + codeLifetimeSeconds * 1_000
}

/** Phones of SMS_TEST_OTP take nothing from the limit. */
function isCounted({ config, now }: AuthDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'email' || findTestCode(config.sms, value, now()) === undefined
}
