import { randomUUID } from 'node:crypto'
import {
  type EmailChangeDeps,
  type PhoneChangeDeps,
  resendEmailChange,
  resendPhoneChange,
} from '../address-changes/request-address-change.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { type HookedDeps, isSentInRequest, isSmsUnsendable, runHooked } from '../messages/hooked-transaction.ts'
import { issueMailToken } from '../messages/mail-token.ts'
import {
  countMessages,
  type MessagePurpose,
  type MessageRequest,
  messageMedium,
  messageRequestTask,
  type Sending,
} from '../messages/message-request.ts'
import { countSms, findTestCode, issueSmsCode } from '../messages/sms-code.ts'
import { queueSms } from '../messages/sms-job.ts'
import { type Allowance, type RateLimits, takeAllowances } from '../rate-limits/rate-limits.ts'
import {
  confirmationInterval,
  type IntervalKey,
  magicLinkInterval,
  requireInterval,
  requireIntervalOver,
  restoreIntervals,
} from '../rate-limits/send-interval.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { lockOrAddPendingSignUp, type PendingSignUpDeps } from '../sign-ups/insert-own-user.ts'
import { upsertSignUpContent } from '../sign-ups/sign-up-repository.ts'
import { isPendingSignUp, type User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { hasClaimedEmail, lockIdentifierOwner } from '../users/user-repository.ts'

/** The dependencies of a message request. The limits count each message, even if it has no recipient. */
export interface MessageRequestDeps extends SendDeps, HookedDeps {
  readonly config: AuthConfig
  readonly hooks: HookedDeps['hooks']
  readonly logger: HookedDeps['logger']
  readonly now: () => Date
  readonly rateLimits: Pick<RateLimits, 'email' | 'sms'>
}

/** A requested message, with the values that its job needs. Nothing else of the request is stored. */
interface RequestMessageInput extends Pick<MessageRequest, 'purpose' | 'identifier' | 'pkce' | 'stage' | 'channel'> {
  readonly context: Pick<RequestContext, 'audience' | 'redirectTo' | 'linkBase' | 'ip' | 'limitKey'>
}

/**
 * Queues a message request without looking for its recipient. An unknown address has the same limits and queues the same job
 * (reference: Enumeration and timing). For the same reason, the job drops a message without an SMS gateway, and no error is
 * reported here.
 * @returns the service's own id of the message
 */
export async function requestMessage(deps: MessageRequestDeps, input: RequestMessageInput): Promise<string> {
  const request = toMessageRequest(deps, input)
  const allowance = await takeAllowance(deps, request, input.context.limitKey)
  const isUnsent = await runHooked(deps, async (trx, repeatable) => {
    const { own, before } = requestIntervals(deps.config, request)
    if (before) await requireIntervalOver(trx, repeatable, before)
    const used = await requireInterval(trx, repeatable, own)
    if (!isSentAtOnce(deps, request)) {
      await deps.jobs.send(trx, messageRequestTask, request)
      if (messageMedium(request) === 'sms' && isSmsUnsendable(deps)) await restoreIntervals(trx, [used])
      return false
    }
    const sending = await sendRequested(trx, repeatable, request)
    if (sending === 'nobody' && isFree(deps, request)) await restoreIntervals(trx, [used])
    return sending !== 'sent'
  }).catch(async (error: unknown) => {
    await allowance.giveBack()
    throw error
  })
  if (isUnsent) await allowance.giveBackUnsent()
  return request.messageId
}

/**
 * Whether a request without a recipient does not use the interval: if the profile sends SMS in the request. The longer request
 * time reveals a recipient anyway, so the interval would hide nothing.
 */
function isFree({ config }: MessageRequestDeps, request: MessageRequest): boolean {
  return messageMedium(request) === 'sms' && config.compatibility.sendSms === 'in the request'
}

/** Whether the request itself looks for the recipient, because it also sends the message or uses a test phone. */
function isSentAtOnce(deps: MessageRequestDeps, request: MessageRequest): boolean {
  return isSentInRequest(deps, messageMedium(request)) || isForTestPhone(deps, request)
}

/**
 * Whether the message goes to a test phone. A test knows the code in advance and uses it immediately, so the code must be stored
 * before the answer. A test phone has no account to hide.
 */
function isForTestPhone({ config, now }: MessageRequestDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'phone' && findTestCode(config.sms, value, now()) !== undefined
}

export function toMessageRequest(
  { now }: Pick<MessageRequestDeps, 'now'>,
  { context, ...input }: RequestMessageInput,
): MessageRequest {
  const { audience, redirectTo, linkBase, ip } = context
  return { ...input, audience, redirectTo, linkBase, ip, messageId: randomUUID(), askedAt: now().toISOString() }
}

function takeAllowance(
  deps: MessageRequestDeps,
  request: MessageRequest,
  limitKey: string | undefined,
): Promise<Allowance> {
  if (messageMedium(request) === 'email') {
    const mails = countMessages(request, deps.config)
    return takeAllowances(Array.from({ length: mails }, () => () => deps.rateLimits.email.take(limitKey)))
  }
  // The new number of a phone change is only in the user's row, which the job reads.
  return countSms(deps, request.identifier.kind === 'phone' ? request.identifier.value : '', limitKey)
}

interface RequestIntervals {
  /** The interval that the request uses up, even if no message is sent. */
  readonly own: IntervalKey
  /** Another request's interval, which always sends a message. This request waits for it without using it up. */
  readonly before?: IntervalKey
}

/**
 * Returns the intervals of a request. A request that may send nothing has a separate interval. With a shared interval, a stranger
 * could delay a message without sending one, and a refusal would reveal whether one was sent.
 */
function requestIntervals(
  { compatibility }: Pick<AuthConfig, 'compatibility'>,
  { purpose, identifier: { kind, value }, audience }: MessageRequest,
): RequestIntervals {
  const key = { identifier: value, audience }
  if (purpose === 'magiclink') return { own: magicLinkInterval(compatibility, key) }
  if (purpose === 'recovery') return { own: { ...key, kind: 'recovery' } }
  if (purpose === 'email_change') return { own: { ...key, kind: 'email_change', scope: 'resend' } }
  if (purpose === 'phone_change') return { own: { ...key, kind: 'sms', scope: 'resend' } }
  const own = confirmationInterval({ kind, value }, { audience })
  return kind === 'email' ? { own } : { own, before: { ...key, kind: 'sms' } }
}

/** The dependencies of all messages, because the purpose of a request is known only when its job runs. */
type SendDeps = AuditDeps & EmailChangeDeps & PhoneChangeDeps & PendingSignUpDeps

/** Sends the message of a request, in the request's transaction. */
export function sendRequested(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  return SENDERS[request.purpose](trx, deps, request)
}

type Sender = (trx: Trx, deps: SendDeps, request: MessageRequest) => Promise<Sending>

const SENDERS: Readonly<Record<MessagePurpose, Sender>> = {
  magiclink: sendMagicLink,
  recovery: sendRecovery,
  confirmation: resendConfirmation,
  email_change: resendEmailChange,
  phone_change: resendPhoneChange,
}

/** Mails a link and a code for signing in (reference: POST /otp). */
async function sendMagicLink(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { identifier, audience, stage, ip, pkce } = request
  const user = await lockOrAddPendingSignUp(trx, deps, { identifier, audience, stage })
  if (!user) return 'nobody'
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
  const action = isPendingSignUp(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
  await recordAudit(trx, deps, { action, actor: user, ip })
  return 'sent'
}

/** Mails a link and a code that open a session for setting a new password (reference: POST /recover). */
async function sendRecovery(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { audience, identifier, ip, pkce } = request
  const user = await lockIdentifierOwner(trx, identifier)
  if (!user || isPendingSignUp(user) || user.audience !== audience || (await hasClaimedEmail(trx, user)))
    return 'nobody'
  await upsertSignUpContent(trx, user, { kind: 'recovery', audience, data: {}, passwordHash: null })
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
  return 'sent'
}

/**
 * Sends the pending confirmation of an email or a phone again (reference: POST /resend). For a pending sign-up, sends the
 * requested code again.
 */
async function resendConfirmation(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { audience, identifier, ip } = request
  const user = await lockIdentifierOwner(trx, identifier)
  if (!user || user.isSsoUser || user.audience !== audience) return 'nobody'
  if ((identifier.kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null) return 'nobody'
  if (identifier.kind === 'phone') return resendCode(trx, deps, user, request)
  if (isPendingSignUp(user)) return sendMagicLink(trx, deps, { ...request, stage: { data: user.userMetadata } })
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
  return 'sent'
}

/** Sends a code by SMS again. @returns `unsent` for a test phone, which receives no message */
export async function resendCode(
  trx: Trx,
  deps: SendDeps,
  user: User,
  { identifier, channel = 'sms', messageId, ip }: MessageRequest,
): Promise<Sending> {
  await updateUser(
    trx,
    user.id,
    isPendingSignUp(user) ? { staged_at: deps.now() } : { confirmation_sent_at: deps.now() },
  )
  const sms = await issueSmsCode(trx, deps, { user, phone: identifier.value, tokenKind: 'sms', channel, messageId })
  if (sms) await queueSms(trx, deps, sms)
  await recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip })
  return sms === undefined ? 'unsent' : 'sent'
}
