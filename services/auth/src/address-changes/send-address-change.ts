import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { issueMailToken, type MailToken, type MailTokenDeps } from '../messages/mail-token.ts'
import type { MessageRequest, Sending } from '../messages/message-request.ts'
import { issueSmsCode, type SmsCode, type SmsCodeDeps } from '../messages/sms-code.ts'
import { queueSms } from '../messages/sms-job.ts'
import { deleteEmailChangeTokens, findChangeAskedAt } from '../one-time-tokens/pending-change-repository.ts'
import { claimResend } from '../rate-limits/change-intervals.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { lockIdentifierOwner } from '../users/user-repository.ts'
import { needsBothAddresses } from './email-change.ts'

/** The dependencies of `sendPhoneChange` and `resendPhoneChange`: settings of codes and SMS, and the jobs that send them. */
export interface PhoneChangeDeps extends SmsCodeDeps {
  readonly config: Pick<AuthConfig, 'jwt' | 'mail' | 'mfa' | 'sms'>
  readonly jobs: Jobs
}

/** The dependencies of `sendEmailChange` and `resendEmailChange`: those that make a link token, and the jobs that send mails. */
export interface EmailChangeDeps extends MailTokenDeps {
  readonly jobs: Jobs
}

/** The messages of a change of email: one to the new address, and one to the current address for a secure change. */
export interface EmailChangeMessage extends Pick<MailToken, 'context' | 'messageId'> {
  readonly newEmail: string
  readonly pkce: PkceChallenge | undefined
  /** The session that asks; null for none. Undefined: the mails are sent again, and the change keeps its session and its time. */
  readonly sessionId?: string | null
  /** Whether a new address that another user has gets no mail. Always so for anonymous users. */
  readonly onlyIfFree?: boolean
}

/**
 * Stores a pending change of email, and mails the new address to confirm it; for a secure change the current address too
 * (reference: Change of email). Forgets an earlier confirmation, because each mail can be used once.
 * @param user locked
 */
export async function sendEmailChange(
  trx: Trx,
  deps: EmailChangeDeps,
  user: User,
  { newEmail, pkce, context, messageId, sessionId, onlyIfFree = user.isAnonymous }: EmailChangeMessage,
): Promise<void> {
  const at = deps.now()
  await deleteEmailChangeTokens(trx, user.id)
  await updateUser(trx, user.id, {
    email_change: newEmail,
    email_change_sent_at: at,
    ...(sessionId === undefined ? {} : { email_change_asked_at: at, email_change_session_id: sessionId }),
    email_change_confirm_status: 0,
    updated_at: at,
  })
  const mail = {
    user,
    mailKind: 'EMAIL_CHANGE',
    linkType: 'email_change',
    linkPath: deps.config.mail.linkPaths.emailChange,
    flow: { method: 'email_change', pkce },
    context,
    change: { oldEmail: user.email ?? '', newEmail },
  } as const
  const named = messageId === undefined ? {} : { messageId }
  const toNew = { ...mail, ...named, email: newEmail, tokenKind: 'email_change_new' } as const
  await issueMailToken(trx, deps, onlyIfFree ? { ...toNew, onlyIfFree: true } : toNew)
  if (user.email === null || !needsBothAddresses(user, deps.config.mail)) return
  await issueMailToken(trx, deps, { ...mail, email: user.email, tokenKind: 'email_change_current' })
}

/** The message of a change of phone, which goes to the new number. */
export interface PhoneChangeMessage extends Pick<SmsCode, 'channel' | 'messageId'> {
  readonly newPhone: string
  /** The session that asks; null for none. Undefined: the SMS is sent again, and the change keeps its session and its time. */
  readonly sessionId?: string | null
}

/**
 * Stores a pending change of phone, and sends the new number a code to confirm it (reference: Change of phone).
 * @param user locked @returns false for a test phone, to which nothing is sent
 */
export async function sendPhoneChange(
  trx: Trx,
  deps: SmsCodeDeps & { readonly jobs: Jobs },
  user: User,
  { newPhone, sessionId, ...message }: PhoneChangeMessage,
): Promise<boolean> {
  const at = deps.now()
  await updateUser(trx, user.id, {
    phone_change: newPhone,
    phone_change_sent_at: at,
    ...(sessionId === undefined ? {} : { phone_change_asked_at: at, phone_change_session_id: sessionId }),
    updated_at: at,
  })
  const sms = await issueSmsCode(trx, deps, { user, phone: newPhone, tokenKind: 'phone_change', ...message })
  if (sms) await queueSms(trx, deps, user.isAnonymous ? { ...sms, onlyIfFree: true } : sms)
  return sms !== undefined
}

/** How long anybody may have the messages of a change sent again. Afterwards the user signs in, and asks for the change anew. */
const YOUNG_MS = 86_400_000

/**
 * Sends the mails of a pending change of email again; both addresses must confirm anew.
 * @returns `nobody` where no young change is pending, or an interval of the change is not over; only this job knows the user
 */
export async function resendEmailChange(
  trx: Trx,
  deps: EmailChangeDeps & PhoneChangeDeps & AuditDeps,
  request: MessageRequest,
): Promise<Sending> {
  const user = await lockRecipient(trx, request)
  if (!user || user.emailChange === null || !(await isYoungChange(trx, deps.now(), user, 'email'))) return 'nobody'
  if (!(await claimResend(trx, deps, user, { kind: 'email_change', address: user.emailChange }))) return 'nobody'
  const { pkce, messageId } = request
  const message = { newEmail: user.emailChange, pkce, context: request, messageId } as const
  await sendEmailChange(trx, deps, user, message)
  await recordResend(trx, deps, user, { provider: 'email', ip: request.ip })
  return 'sent'
}

/**
 * Sends the code of a pending change of phone again.
 * @returns `nobody` where no young change is pending, or an interval of the change is not over; only this job knows the number
 */
export async function resendPhoneChange(
  trx: Trx,
  deps: PhoneChangeDeps & AuditDeps,
  { channel = 'sms', messageId, ...request }: MessageRequest,
): Promise<Sending> {
  const user = await lockRecipient(trx, request)
  if (!user || user.phoneChange === null || !(await isYoungChange(trx, deps.now(), user, 'phone'))) return 'nobody'
  if (!(await claimResend(trx, deps, user, { kind: 'sms', address: user.phoneChange }))) return 'nobody'
  const message = { newPhone: user.phoneChange, channel, messageId } as const
  await recordResend(trx, deps, user, { provider: 'phone', ip: request.ip })
  return (await sendPhoneChange(trx, deps, user, message)) ? 'sent' : 'unsent'
}

function recordResend(
  trx: Trx,
  deps: AuditDeps,
  user: User,
  { ip, ...traits }: { readonly provider: IdentifierKind; readonly ip: string },
): Promise<void> {
  return recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip, traits })
}

/** Locks the user of a request. It names the user by a current email or phone, whichever of the two changes. */
async function lockRecipient(
  trx: Trx,
  { audience, identifier }: Pick<MessageRequest, 'audience' | 'identifier'>,
): Promise<User | undefined> {
  const user = await lockIdentifierOwner(trx, identifier)
  return user?.audience === audience && !user.isSsoUser ? user : undefined
}

async function isYoungChange(trx: Trx, now: Date, { id }: User, kind: IdentifierKind): Promise<boolean> {
  const askedAt = await findChangeAskedAt(trx, id, kind)
  return askedAt !== null && now.getTime() - Date.parse(askedAt) < YOUNG_MS
}
