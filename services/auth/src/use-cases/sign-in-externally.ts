import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { deleteOtherIdentities } from '../identities/external-identity-repository.ts'
import type { RequestContext } from '../request-context.ts'
import { recordAddressChange } from '../users/address-change-repository.ts'
import { isUnclaimed } from '../users/claim-repository.ts'
import type { Timestamp } from '../users/timestamp.ts'
import type { User } from '../users/user.ts'
import { deleteBelongings, updateUser } from '../users/user-repository.ts'
import { type ExternalOwner, findExternalOwner, freeEmail, learn } from './find-external-owner.ts'
import type { UnverifiedEmail } from './refuse-unverified.ts'

/** Whom an external account has signed in; or why it has not, which is stored all the same. */
export type ExternalSignIn = ExternalOutcome | { readonly verdict: 'no-email' }

/** What becomes of a user whom there is. */
export type ExternalOutcome =
  | {
      readonly verdict: 'signed-in'
      readonly user: User
      readonly mailTo?: UnverifiedEmail['mailTo']
      /** Since when the identity is a way into the user's account; null: since the account was made. */
      readonly credentialSince: Timestamp | Date | null
    }
  | { readonly verdict: 'unverified'; readonly user: User; readonly mailTo: UnverifiedEmail['mailTo'] }

/**
 * Signs in the owner of an external account (reference: Owner of an external account). The transaction is one of
 * `settleRaces`.
 * @throws userBanned, severalOwners, signupDisabled
 */
export async function signInExternally(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { account, context }: { readonly account: ExternalAccount; readonly context: RequestContext },
): Promise<ExternalSignIn> {
  const owner = await findExternalOwner(trx, deps, account, context)
  if (!owner) return { verdict: 'no-email' }
  const { email } = account
  const { user, credentialSince } = owner
  const isNew = owner.decision === 'create'
  const record = (action: 'login' | 'user_signedup') =>
    recordAudit(trx, deps, { action, actor: user, ip: context.ip, traits: { provider: account.provider } })
  if (isKnown(user, email)) {
    await record(isNew ? 'user_signedup' : 'login')
    return { verdict: 'signed-in', user, credentialSince }
  }
  if (email && (email.isVerified || deps.config.mail.autoconfirm)) {
    const confirmed = await confirmOwner(trx, deps, owner, account)
    // It has kept an address that nobody has confirmed.
    if (confirmed.email !== null && confirmed.emailConfirmedAt === null) {
      return { verdict: 'unverified', user: confirmed, mailTo: undefined }
    }
    await record('user_signedup')
    return { verdict: 'signed-in', user: confirmed, credentialSince }
  }
  // Asked for also where somebody else has the address: the refusal must not tell. They are sent nothing that is not theirs.
  if (!deps.config.mail.allowsUnverified) return { verdict: 'unverified', user, mailTo: email?.email }
  // Where somebody else has the address, or the provider no longer tells it, a mail could confirm nothing.
  const mailTo = user.email === email?.email ? email?.email : undefined
  await record(isNew ? 'user_signedup' : 'login')
  return { verdict: 'signed-in', user, mailTo, credentialSince }
}

/**
 * Whether somebody signs in by anything that is theirs: they have confirmed an address or a number, or neither they nor their
 * provider have an address that could be somebody else's. A provider that has become silent about one confirms nothing.
 */
function isKnown(user: User, email: ExternalAccount['email']): boolean {
  if (user.emailConfirmedAt !== null) return true
  return (user.email === null && !email) || (user.confirmedAt !== null && (user.email === null || !email))
}

/**
 * Confirms an account by the word of a provider. Where it is nobody's yet, what came before may be a stranger's who waits for
 * the owner of the address: password, metadata, other identities and every way to stay signed in go. They stay where the account
 * has no address, and the provider, by which its user is known, tells of one for the first time. An identity that was added to
 * the account changes no address of who has a second factor: a session that has not shown it may have added it.
 */
export async function confirmOwner(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { decision, user, identityId, isFirstAddress, credentialSince }: ExternalOwner,
  account: ExternalAccount,
): Promise<User> {
  const at = deps.now()
  const isKnownWithout = user.email === null && isFirstAddress
  const wanted = account.email?.email ?? null
  const isStrange = decision !== 'create' && !isKnownWithout && (await isUnclaimed(trx, user))
  const isAdded = credentialSince !== null && user.email !== wanted
  if (!isStrange && isAdded && (await hasVerifiedFactor(trx, user.id))) return user
  if (isStrange) {
    await deleteBelongings(trx, user.id)
    await deleteOtherIdentities(trx, user.id, identityId)
    await updateUser(trx, user.id, { ...EMPTY, is_anonymous: false })
  }
  const email = user.email === wanted ? wanted : await freeEmail(trx, account)
  if (decision !== 'create' && email !== null && email !== user.email) {
    await recordAddressChange(trx, user, { kind: 'email', at })
  }
  const confirmed = await updateUser(trx, user.id, {
    // An address that was never confirmed gives way to one that is; where that is somebody's, there is none.
    email,
    email_confirmed_at: email === null ? null : (user.emailConfirmedAt ?? at),
    is_anonymous: false,
    updated_at: at,
  })
  return isStrange ? learn(trx, deps, { ...confirmed, userMetadata: {} }, account) : confirmed
}

const EMPTY = {
  encrypted_password: null,
  raw_user_meta_data: {},
  phone: null,
  email_change: '',
  email_change_confirm_status: 0,
  phone_change: '',
} as const
