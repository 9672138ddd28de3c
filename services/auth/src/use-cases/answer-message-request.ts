import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { Transaction } from 'kysely'
import { resendEmailChange, resendPhoneChange } from '../address-changes/send-address-change.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { issueMailToken } from '../messages/mail-token.ts'
import {
  countOf,
  type MessagePurpose,
  type MessageRequest,
  mediumOf,
  messageRequestTask,
} from '../messages/message-request.ts'
import { issueSmsCode } from '../messages/sms-code.ts'
import { queueSms } from '../messages/sms-job.ts'
import { findTestCode } from '../messages/test-code.ts'
import { keepSignUpContent } from '../sign-ups/sign-up-content-repository.ts'
import { lockOrStageUser } from '../sign-ups/stage-user.ts'
import { isStaged, type User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { hasClaimedEmail, lockUserByIdentifier } from '../users/user-repository.ts'

/** Starts to answer queued requests for messages. */
export async function workOnMessageRequests(deps: AuthDeps): Promise<void> {
  await deps.jobs.work(messageRequestTask, (request, { attempt }) => answerMessageRequest(deps, request, attempt))
}

/**
 * Sends the message of a request, if it has a recipient. The limits count the message either way. If they counted only messages
 * that are sent, the next 429 would reveal who has an account.
 */
export async function answerMessageRequest(deps: AuthDeps, request: MessageRequest, attempt: number): Promise<Outcome> {
  if (isOver(deps, request)) {
    // Only the first attempt gives the allowance back. An earlier attempt may have done so before its process died.
    if (attempt === 1 && isCounted(deps, request)) await giveBack(deps, request)
    return 'dropped'
  }
  const isSent = await deps.db.transaction().execute((trx) => sendRequested(trx, deps, request))
  return isSent ? 'done' : 'dropped'
}

/** Sends the message of a request, in the transaction of the request. @returns whether it has a recipient */
export function sendRequested(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  return SENDERS[request.purpose](trx, deps, request)
}

/** Sends the message of one purpose. @returns whether it has a recipient */
type Sender = (trx: Transaction<AuthDatabase>, deps: AuthDeps, request: MessageRequest) => Promise<boolean>

const SENDERS: Readonly<Record<MessagePurpose, Sender>> = {
  magiclink: sendMagicLink,
  recovery: sendRecovery,
  confirmation: resendConfirmation,
  email_change: resendEmailChange,
  phone_change: resendPhoneChange,
}

/** Mails a link and a code to sign in with (reference: POST /otp). */
async function sendMagicLink(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  const { identifier, audience, stage, ip, pkce } = request
  const user = await lockOrStageUser(trx, deps, { identifier, audience, stage })
  if (!user) return false
  await updateUser(trx, user.id, { recovery_sent_at: deps.now() })
  await issueMailToken(trx, deps, {
    user,
    email: identifier.value,
    tokenKind: 'recovery',
    mailKind: 'MAGIC_LINK',
    linkType: 'magiclink',
    linkPath: deps.config.mail.linkPaths.recovery,
    flow: { method: 'magiclink', pkce },
    context: request,
    messageId: request.messageId,
  })
  const action = isStaged(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
  await recordAudit(trx, deps, { action, actor: user, ip })
  return true
}

/** Mails a link and a code that open a session in which the user can set a new password (reference: POST /recover). */
async function sendRecovery(trx: Transaction<AuthDatabase>, deps: AuthDeps, request: MessageRequest): Promise<boolean> {
  const { audience, identifier, ip, pkce } = request
  const user = await lockUserByIdentifier(trx, identifier)
  if (!user || isStaged(user) || user.aud !== audience || (await hasClaimedEmail(trx, user))) return false
  await keepSignUpContent(trx, user, { kind: 'recovery', aud: audience, data: {}, passwordHash: null })
  await updateUser(trx, user.id, { recovery_sent_at: deps.now() })
  await issueMailToken(trx, deps, {
    user,
    email: identifier.value,
    tokenKind: 'recovery',
    mailKind: 'RECOVERY',
    linkType: 'recovery',
    linkPath: deps.config.mail.linkPaths.recovery,
    flow: { method: 'recovery', pkce },
    context: request,
    messageId: request.messageId,
  })
  await recordAudit(trx, deps, { action: 'user_recovery_requested', actor: user, ip })
  return true
}

/**
 * Sends the pending confirmation of an email or a phone again (reference: POST /resend): the confirmation of a sign-up, or for
 * a staged user the code that was asked for.
 */
async function resendConfirmation(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  const { audience, identifier, ip } = request
  const user = await lockUserByIdentifier(trx, identifier)
  if (!user || user.aud !== audience) return false
  if ((identifier.kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null) return false
  if (identifier.kind === 'phone') return resendCode(trx, deps, user, request)
  if (isStaged(user)) return sendMagicLink(trx, deps, { ...request, stage: { data: user.userMetadata } })
  await updateUser(trx, user.id, { confirmation_sent_at: deps.now() })
  await issueMailToken(trx, deps, {
    user,
    email: identifier.value,
    tokenKind: 'confirmation',
    mailKind: 'CONFIRMATION',
    linkType: 'signup',
    linkPath: deps.config.mail.linkPaths.confirmation,
    flow: { method: 'email/signup', pkce: request.pkce },
    context: request,
    messageId: request.messageId,
  })
  await recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip })
  return true
}

async function resendCode(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { identifier, channel = 'sms', messageId, ip }: MessageRequest,
): Promise<boolean> {
  await updateUser(trx, user.id, isStaged(user) ? { staged_at: deps.now() } : { confirmation_sent_at: deps.now() })
  const sms = await issueSmsCode(trx, deps, { user, phone: identifier.value, tokenKind: 'sms', channel, messageId })
  if (sms) await queueSms(trx, deps, sms)
  await recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip })
  return sms !== undefined
}

async function giveBack({ config, rateLimits }: AuthDeps, request: MessageRequest): Promise<void> {
  const messages = countOf(request, config.mail.secureEmailChange)
  for (let given = 0; given < messages; given += 1) await rateLimits[mediumOf(request)].giveBack()
}

/** Whether the request is older than a code lives. Nobody waits for its message any more. */
function isOver({ config, now }: AuthDeps, request: MessageRequest): boolean {
  const { codeLifetimeSeconds } = mediumOf(request) === 'email' ? config.mail : config.sms
  return now().getTime() >= Date.parse(request.askedAt) + codeLifetimeSeconds * 1_000
}

/** Whether the limits have counted the request. They do not count test phones. */
function isCounted({ config, now }: AuthDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'email' || findTestCode(config.sms, value, now()) === undefined
}
