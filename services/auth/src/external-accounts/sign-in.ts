import { recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { User } from '../users/user.ts'
import { confirmOwner } from './confirm-owner.ts'
import { type FindOwnerDeps, findExternalOwner } from './find-owner.ts'
import type { UnverifiedEmail } from './unverified-email.ts'

/** The user whom an external account signs in, or why it signs nobody in. Either way the transaction is committed. */
export type ExternalSignIn = ExternalOutcome | { readonly verdict: 'no-email' }

/** The outcome where the user is known. */
export type ExternalOutcome =
  | SignedIn
  | { readonly verdict: 'unverified'; readonly user: User; readonly mailTo: UnverifiedEmail['mailTo'] }

interface SignedIn {
  readonly verdict: 'signed-in'
  readonly user: User
  readonly mailTo?: UnverifiedEmail['mailTo']
  /** Since when the identity is a way into the account; null: since the account exists. */
  readonly credentialSince: Timestamp | Date | null
}

/**
 * Signs in the owner of an external account (reference: Owner of an external account). Runs in a transaction
 * of `withUniqueAccount`.
 * @throws userNotFound, userBanned, consoleUserProtected, identityTaken, severalOwners, emailExists, signupDisabled, StaleView
 */
export async function signInExternally(
  trx: Trx,
  deps: FindOwnerDeps,
  { account, context }: { readonly account: ExternalAccount; readonly context: RequestContext },
): Promise<ExternalSignIn> {
  const owner = await findExternalOwner(trx, deps, account, context)
  if (!owner) return { verdict: 'no-email' }
  const { email } = account
  const { user, credentialSince } = owner
  const isNew = owner.decision === 'create'
  const record = (action: 'login' | 'user_signedup') =>
    recordAudit(trx, deps, { action, actor: user, ip: context.ip, traits: { provider: account.provider } })
  if (needsNoConfirmation(user, email)) {
    await record(isNew ? 'user_signedup' : 'login')
    return { verdict: 'signed-in', user, credentialSince }
  }
  if (email && (email.isVerified || deps.config.mail.autoconfirm)) {
    const confirmed = await confirmOwner(trx, deps, owner, account)
    // The user has kept an email that nobody has confirmed.
    if (confirmed.email !== null && confirmed.emailConfirmedAt === null) {
      return { verdict: 'unverified', user: confirmed, mailTo: undefined }
    }
    await record('user_signedup')
    return { verdict: 'signed-in', user: confirmed, credentialSince }
  }
  // Refuse in the same way where another user has the email, so that the refusal does not reveal that. That user gets no mail.
  if (!deps.config.mail.allowsUnverified) return { verdict: 'unverified', user, mailTo: email?.email }
  // If another user has the email, or the provider no longer gives one, there is nothing to confirm.
  const mailTo = user.email === email?.email ? email?.email : undefined
  await record(isNew ? 'user_signedup' : 'login')
  return { verdict: 'signed-in', user, mailTo, credentialSince }
}

/**
 * Whether a user may sign in without a further confirmation. The user has confirmed an email or a phone, or
 * there is no email that could belong to somebody else, neither in the account nor at the provider. A
 * provider that no longer gives an email confirms nothing.
 */
function needsNoConfirmation(user: User, email: ExternalAccount['email']): boolean {
  if (user.emailConfirmedAt !== null) return true
  return (user.email === null && !email) || (user.confirmedAt !== null && (user.email === null || !email))
}
