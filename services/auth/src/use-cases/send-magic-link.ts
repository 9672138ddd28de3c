import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { isStaged } from '../users/user.ts'
import { updateUser } from '../users/user-repository.ts'
import { issueMailToken } from './issue-mail-token.ts'
import { lockOrStageUser } from './stage-user.ts'

/** Mails a link and a code to sign in with (reference: POST /otp). @returns whether there was anybody to send it to */
export async function sendMagicLink(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
  const user = await lockOrStageUser(trx, deps, { ...request, stage: request.stage })
  if (!user) return false
  const { identifier, ip, pkce } = request
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
