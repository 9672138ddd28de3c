import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { deleteTokensOfKinds } from '../one-time-tokens/one-time-token-repository.ts'
import { needsBoth } from '../users/email-change.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-repository.ts'
import { issueMailToken, type MailToken } from './issue-mail-token.ts'

export interface EmailChangeMessage extends Pick<MailToken, 'context' | 'messageId'> {
  readonly newEmail: string
  readonly pkce: PkceChallenge | undefined
  /** Whether the messages of a change go out once more: it is no younger for that. */
  readonly isAgain?: boolean
  /** Whether an address that somebody has gets no mail. Always so for anonymous users. */
  readonly onlyIfFree?: boolean
}

/**
 * Makes a change of email pending, or a pending one once more, and asks the new address, and for a secure change the
 * current one too, to confirm it. What was confirmed before is forgotten: each message can be used once
 * (reference: Change of email).
 * @param user locked
 */
export async function sendEmailChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { newEmail, pkce, context, messageId, isAgain = false, onlyIfFree = user.isAnonymous }: EmailChangeMessage,
): Promise<void> {
  const at = deps.now()
  await deleteTokensOfKinds(trx, user.id, ['email_change_new', 'email_change_current'])
  await updateUser(trx, user.id, {
    email_change: newEmail,
    email_change_sent_at: at,
    ...(isAgain ? {} : { email_change_asked_at: at }),
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
  if (user.email === null || !needsBoth(user, deps.config.mail.secureEmailChange)) return
  await issueMailToken(trx, deps, { ...mail, email: user.email, tokenKind: 'email_change_current' })
}
