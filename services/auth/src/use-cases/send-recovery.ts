import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { hasClaimedEmail } from '../identities/claimed-email.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { keepSignUpContent } from '../users/sign-up-content-repository.ts'
import { isStaged } from '../users/user.ts'
import { lockUserByIdentifier, updateUser } from '../users/user-repository.ts'
import { issueMailToken } from './issue-mail-token.ts'

/** Mails a link and a code to set a new password after. @returns whether there was anybody to send it to */
export async function sendRecovery(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  request: MessageRequest,
): Promise<boolean> {
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
