import {
  type EmailChangeDeps,
  type PhoneChangeDeps,
  resendEmailChange,
  resendPhoneChange,
} from '../address-changes/send-address-change.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import { issueMailToken } from '../messages/mail-token.ts'
import type { MessagePurpose, MessageRequest, Sending } from '../messages/message-request.ts'
import { issueSmsCode } from '../messages/sms-code.ts'
import { queueSms } from '../messages/sms-job.ts'
import { upsertSignUpContent } from '../sign-ups/sign-up-content-repository.ts'
import { lockOrStageUser, type StageDeps } from '../sign-ups/stage-user.ts'
import { isStaged, type User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { hasClaimedEmail, lockIdentifierOwner } from '../users/user-repository.ts'

/** The dependencies of all kinds of requested messages, because the purpose of a request is known only when its job runs. */
export type SendDeps = AuditDeps & EmailChangeDeps & PhoneChangeDeps & StageDeps

/** Sends the message of a request, in the transaction of the request. */
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

/** Mails a link and a code to sign in with (reference: POST /otp). */
async function sendMagicLink(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { identifier, audience, stage, ip, pkce } = request
  const user = await lockOrStageUser(trx, deps, { identifier, audience, stage })
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
  const action = isStaged(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
  await recordAudit(trx, deps, { action, actor: user, ip })
  return 'sent'
}

/** Mails a link and a code that open a session in which the user can set a new password (reference: POST /recover). */
async function sendRecovery(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { audience, identifier, ip, pkce } = request
  const user = await lockIdentifierOwner(trx, identifier)
  if (!user || isStaged(user) || user.audience !== audience || (await hasClaimedEmail(trx, user))) return 'nobody'
  await upsertSignUpContent(trx, user, { kind: 'recovery', audience: audience, data: {}, passwordHash: null })
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
 * Sends the pending confirmation of an email or a phone again (reference: POST /resend): the confirmation of a sign-up, or for
 * a staged user the code that was asked for.
 */
async function resendConfirmation(trx: Trx, deps: SendDeps, request: MessageRequest): Promise<Sending> {
  const { audience, identifier, ip } = request
  const user = await lockIdentifierOwner(trx, identifier)
  if (!user || user.isSsoUser || user.audience !== audience) return 'nobody'
  if ((identifier.kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null) return 'nobody'
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
  return 'sent'
}

/**
 * Sends a code by SMS again: to sign in, or to confirm a phone.
 * @returns `unsent` for a test phone, to which nothing is sent
 */
export async function resendCode(
  trx: Trx,
  deps: SendDeps,
  user: User,
  { identifier, channel = 'sms', messageId, ip }: MessageRequest,
): Promise<Sending> {
  await updateUser(trx, user.id, isStaged(user) ? { staged_at: deps.now() } : { confirmation_sent_at: deps.now() })
  const sms = await issueSmsCode(trx, deps, { user, phone: identifier.value, tokenKind: 'sms', channel, messageId })
  if (sms) await queueSms(trx, deps, sms)
  await recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip })
  return sms === undefined ? 'unsent' : 'sent'
}
