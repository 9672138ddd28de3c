import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { notify } from '../messages/notification.ts'
import { recordAddressChange } from '../users/address-change-repository.ts'
import { type EmailChangeToken, judgeEmailChange } from '../users/email-change.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-repository.ts'
import { claimIdentifier, TAKEN_FOR_USER } from './claim-identifier.ts'
import { setOwnIdentity } from './set-own-identity.ts'

/**
 * Does what a message of a pending change of email does, after it has been used up: the change is applied, or waits for
 * the other address. The transaction is one of `withUniqueIdentifiers`.
 * @param user locked @returns `refused` for a message that alone proves nothing @throws emailExists
 */
export async function confirmEmailChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { used, ip }: { readonly used: EmailChangeToken; readonly ip: string },
): Promise<'applied' | 'other-address-left' | 'refused'> {
  const verdict = judgeEmailChange(user, used, deps.config.mail.secureEmailChange)
  if (verdict === 'refuse' || user.emailChange === null) return 'refused'
  if (verdict === 'apply') {
    await applyEmailChange(trx, deps, user, { newEmail: user.emailChange, ip })
    return 'applied'
  }
  await updateUser(trx, user.id, { email_change_confirm_status: 1, updated_at: deps.now() })
  return 'other-address-left'
}

/** Gives a user another email, which counts as confirmed: an anonymous user becomes a permanent one. @throws emailExists */
export async function applyEmailChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { newEmail, ip }: { readonly newEmail: string; readonly ip: string },
): Promise<User> {
  const at = deps.now()
  const identifier = { kind: 'email', value: newEmail } as const
  await claimIdentifier(trx, identifier, { ownerId: user.id, taken: TAKEN_FOR_USER })
  const changed = await updateUser(trx, user.id, {
    email: newEmail,
    email_confirmed_at: at,
    email_change: '',
    email_change_confirm_status: 0,
    is_anonymous: false,
    updated_at: at,
  })
  await recordAddressChange(trx, user, { kind: 'email', at })
  const owner = await setOwnIdentity(trx, changed, { identifier, isVerified: true, at })
  if (user.email !== null) {
    await notify(trx, deps, owner, { name: 'EMAIL_CHANGED', variables: { OldEmail: user.email } })
  }
  await recordAudit(trx, deps, { action: 'user_modified', actor: owner, ip, traits: { provider: 'email' } })
  return owner
}
