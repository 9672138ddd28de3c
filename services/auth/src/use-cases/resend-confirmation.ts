import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { queueSms } from '../messages/sms-job.ts'
import { isStaged, type User } from '../users/user.ts'
import { lockUserByIdentifier, updateUser } from '../users/user-repository.ts'
import { issueMailToken } from './issue-mail-token.ts'
import { issueSmsCode } from './issue-sms-code.ts'
import { sendMagicLink } from './send-magic-link.ts'

/**
 * Sends the pending confirmation of an email or phone once more: that of a signup, or for a staged user the code that was
 * asked for. @returns whether one was pending, and is sent
 */
export async function resendConfirmation(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  const { audience, identifier, ip } = request
  const user = await lockUserByIdentifier(trx, identifier)
  if (!user || user.aud !== audience) return false
  if ((identifier.kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null) return false
  if (identifier.kind === 'phone') return sendCode(trx, deps, user, request)
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

async function sendCode(
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
