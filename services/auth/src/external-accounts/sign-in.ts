import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { manualLinkingDisabled } from '../errors.ts'
import { identityLinked, invitedEmailElsewhere, inviteNotFound } from '../external-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import { type ExternalAccount, identitySince } from '../identities/identity.ts'
import {
  deleteOtherIdentities,
  findExternalIdentity,
  insertExternalIdentity,
} from '../identities/identity-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { claimToken, deleteAnonymousChanges, findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { ACCEPTED_KINDS } from '../one-time-tokens/verify-request.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { RequestContext } from '../requests/request-context.ts'
import {
  type ActiveCallerDeps,
  lockLinkingUser,
  requireIdentityFactor,
  requireLinkable,
  requireShownFactor,
} from '../sessions/active-caller.ts'
import { awaitsFirstSignIn, claimAccountEmail, releaseUnused } from '../users/claim-identifier.ts'
import { confirmedMetadata } from '../users/metadata.ts'
import { CLEARED_VALUES, requireNotBanned, type User } from '../users/user.ts'
import { deleteBelongings, updateProviders, updateUser, upsertAddressChange } from '../users/user-change-repository.ts'
import { isUnclaimed, lockUserById } from '../users/user-repository.ts'
import {
  adoptProfile,
  type ExternalOwner,
  type FindOwnerDeps,
  findExternalOwner,
  freeEmail,
  refuseCustomProvider,
  refuseForeignIdentity,
  requireSameIssuer,
  requireSameSubjects,
  type UnverifiedEmail,
} from './find-owner.ts'

/** The user of an external account, or the reason why nobody is signed in. The transaction is committed in both cases. */
export type ExternalSignIn = ExternalOutcome | { readonly verdict: 'no-email' }

/** The outcome if the user is known. */
export type ExternalOutcome =
  | SignedIn
  | { readonly verdict: 'unverified'; readonly user: User; readonly mailTo: UnverifiedEmail['mailTo'] }

interface SignedIn {
  readonly verdict: 'signed-in'
  readonly user: User
  readonly mailTo?: UnverifiedEmail['mailTo']
  /** Since when the identity can sign in to the account. `null` means since the account exists. */
  readonly credentialSince: Timestamp | Date | null
}

/**
 * Signs in the owner of an external account (reference: Owner of an external account). Runs in a transaction of
 * `withUniqueAccount`.
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
    // The user still has an unconfirmed email.
    if (confirmed.email !== null && confirmed.emailConfirmedAt === null) {
      return { verdict: 'unverified', user: confirmed, mailTo: undefined }
    }
    await record('user_signedup')
    return { verdict: 'signed-in', user: confirmed, credentialSince }
  }
  // Refuse in the same way if another user has the email, so that the answer does not reveal this. No mail is sent then.
  if (!deps.config.mail.allowsUnverified) return { verdict: 'unverified', user, mailTo: email?.email }
  // There is nothing to confirm if another user has the email or the provider no longer returns one.
  const mailTo = user.email === email?.email ? email?.email : undefined
  await record(isNew ? 'user_signedup' : 'login')
  return { verdict: 'signed-in', user, mailTo, credentialSince }
}

/**
 * Whether a user may sign in without another confirmation: the user has a confirmed email or phone, or neither the account nor
 * the provider has an email. If the provider no longer returns an email, it confirms nothing.
 */
function needsNoConfirmation(user: User, email: ExternalAccount['email']): boolean {
  if (user.emailConfirmedAt !== null) return true
  return (user.email === null && !email) || (user.confirmedAt !== null && (user.email === null || !email))
}

/**
 * Confirms an account by an email that a provider has verified or a mail has confirmed. Removes what an attacker may have put
 * into the account, unless its email must stay (see `judgeConfirmation`).
 * @throws StaleView
 */
async function confirmOwner(
  trx: Trx,
  deps: FindOwnerDeps,
  owner: ExternalOwner,
  account: ExternalAccount,
): Promise<User> {
  const { decision, user, identityId } = owner
  const accountEmail = account.email?.email ?? null
  const confirmation = judgeConfirmation(owner, account.email, await readProtection(trx, owner))
  if (confirmation === 'keep-email') return user
  const at = deps.now()
  const takesOver = confirmation === 'take-over'
  if (takesOver || confirmation === 'accept') {
    await deleteBelongings(trx, user.id)
    const keptProvider = takesOver || user.phone === null ? undefined : 'phone'
    await deleteOtherIdentities(trx, user.id, { id: identityId, provider: keptProvider })
    await updateUser(trx, user.id, { ...CLEARED_WAYS_IN, ...(takesOver ? CLEARED_PROFILE : {}), is_anonymous: false })
  }
  const email = user.email === accountEmail ? accountEmail : await freeEmail(trx, account, at)
  if (decision !== 'create' && email !== null && email !== user.email) {
    await upsertAddressChange(trx, user, { kind: 'email', at })
  }
  const isConfirmedNow = email !== null && user.emailConfirmedAt === null
  const confirmedData = isConfirmedNow ? confirmedMetadata(deps.config, {}, 'email') : {}
  const confirmed = await updateUser(trx, user.id, {
    // The confirmed email replaces an unconfirmed one. If another user has it, this account has no email.
    email,
    email_confirmed_at: email === null ? null : (user.emailConfirmedAt ?? at),
    ...(takesOver ? {} : { raw_user_meta_data: { ...user.userMetadata, ...confirmedData } }),
    is_anonymous: false,
    updated_at: at,
  })
  if (confirmation === 'accept') return updateProviders(trx, confirmed)
  if (!takesOver) return deleteAnonymousChanges(trx, deps.config, user, confirmed)
  const { provider, data } = account
  const claims = { provider, data: { ...data, ...confirmedData } }
  return adoptProfile(trx, deps, { ...confirmed, userMetadata: {} }, claims)
}

/** How an account is protected against attackers: by an owner who has claimed it, and by a second factor. */
interface Protection {
  readonly isUnclaimed: boolean
  readonly hasVerifiedFactor: boolean
}

/**
 * Decides the effect of a confirmed email on an account (reference: Owner of an external account):
 * - `take-over`: the account is unclaimed. An attacker may have created it and wait for the owner of the email. The owner gets
 *   the account without the attacker's values. An account without an email was created by its provider. It loses nothing when
 *   this provider returns an email for the first time.
 * - `accept`: the account is unclaimed, but an admin has invited its user with this email. The metadata and the phone come from
 *   the admin and stay. An attacker with another email gets none of them.
 * - `keep-email`: the identity was added later, perhaps by a session without the account's second factor. The identity signs in,
 *   and the email of the account stays.
 * - `confirm`: the account keeps everything and gets the email.
 * @param accountEmail the email of the account at the provider, or `undefined`
 */
export function judgeConfirmation(
  {
    user,
    isFirstAddress,
    credentialSince,
  }: Pick<ExternalOwner, 'isFirstAddress' | 'credentialSince'> & {
    readonly user: Pick<User, 'email' | 'invitedAt'>
  },
  accountEmail: ExternalAccount['email'],
  protection: Protection,
): 'keep-email' | 'take-over' | 'accept' | 'confirm' {
  const isSame = user.email === (accountEmail?.email ?? null)
  const mayBelongToStranger = protection.isUnclaimed && !(user.email === null && isFirstAddress)
  if (mayBelongToStranger) {
    return user.invitedAt !== null && isSame && accountEmail?.isVerified ? 'accept' : 'take-over'
  }
  const wasAddedLater = credentialSince !== null
  return wasAddedLater && !isSame && protection.hasVerifiedFactor ? 'keep-email' : 'confirm'
}

/** Reads the protection of an account. A new account was created by this sign-in, so no attacker had access to it. */
async function readProtection(trx: Trx, { decision, user }: ExternalOwner): Promise<Protection> {
  if (decision === 'create') return { isUnclaimed: false, hasVerifiedFactor: false }
  return { isUnclaimed: await isUnclaimed(trx, user), hasVerifiedFactor: await hasVerifiedFactor(trx, user.id) }
}

/** Columns of the account by which an attacker could sign in. */
const CLEARED_WAYS_IN = {
  encrypted_password: null,
  email_change: '',
  email_change_confirm_status: 0,
  phone_change: '',
} as const

/** Other columns that an attacker may have written, if no admin has invited the user. */
const CLEARED_PROFILE = { ...CLEARED_VALUES, phone: null } as const

interface LinkDeps extends AuditDeps, NotifyDeps, ActiveCallerDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'database' | 'jwt' | 'mail' | 'security' | 'sessions' | 'signup'>
}

interface ExternalLink {
  readonly account: ExternalAccount
  readonly target: LinkingTarget
  readonly ip: string
}

/** Requires that the settings let users link and unlink identities. */
export function requireManualLinking({ security }: Pick<AuthConfig, 'security'>): void {
  if (!security.manualLinkingEnabled) throw manualLinkingDisabled()
}

/** Requires that no other user has the identity of an external account. */
function requireOwnIdentity(known: { readonly userId: string } | undefined, userId: string): void {
  if (known && known.userId !== userId) refuseForeignIdentity()
}

/**
 * Links an external account to a signed-in user (reference: Linking). A user without an email gets the verified email of the
 * account, because access tokens present it as the user's email. A user with a second factor must have used it for this. Runs in
 * a transaction of `withUniqueAccount`.
 * @throws ssoIdentity, consoleUserProtected, identityLinked, identityTaken, identitiesNeedSecondFactor, emailExists,
 * tokenUserNotFound, userBanned, sessionNotFound, StaleView
 */
export async function linkExternalIdentity(
  trx: Trx,
  deps: LinkDeps,
  { account, target, ip }: ExternalLink,
): Promise<ExternalOutcome> {
  const caller = await lockLinkingUser(trx, deps, target)
  const owner = caller.user
  requireLinkable(caller)
  refuseCustomProvider(account, owner)
  await requireIdentityFactor(trx, deps, caller)
  await requireSameSubjects(trx, account)
  const known = await findExternalIdentity(trx, account)
  requireOwnIdentity(known, owner.id)
  if (known) throw identityLinked()
  // The user gets a first email, now or after a mail. Like any email change, this requires the second factor.
  if (owner.email === null && account.email) await requireShownFactor(trx, caller)
  const { id } = await insertExternalIdentity(trx, owner.id, account, deps.now())
  const adopted = await deleteAnonymousChanges(trx, deps.config, owner, await adoptEmail(trx, deps, owner, account))
  const user = deps.config.compatibility.mergeProfileOnLinking
    ? await adoptProfile(trx, deps, adopted, account)
    : await updateProviders(trx, adopted)
  const traits = { identity_id: id, provider: account.provider, provider_id: account.subject }
  await recordAudit(trx, deps, { action: 'identity_linked', actor: user, ip, traits })
  await notify(trx, deps, user, { name: 'IDENTITY_LINKED', variables: { Provider: account.provider } })
  const credentialSince = owner.isAnonymous ? null : deps.now()
  return user.email === null && account.email
    ? { verdict: 'unverified', user, mailTo: account.email.email }
    : { verdict: 'signed-in', user, credentialSince }
}

async function adoptEmail(
  trx: Trx,
  { config, now }: Pick<LinkDeps, 'config' | 'now'>,
  user: User,
  account: ExternalAccount,
): Promise<User> {
  // The user can sign in by an identity without an address, so clean-up must not delete the user as anonymous.
  if (user.isAnonymous && !account.email) return updateUser(trx, user.id, { is_anonymous: false })
  const isTrusted = account.email?.isVerified || config.mail.autoconfirm
  if (user.email !== null || !account.email || !isTrusted) return user
  const { email, isVerified } = account.email
  if (isVerified) await releaseUnused(trx, { kind: 'email', value: email }, now())
  await claimAccountEmail(trx, email, user.id)
  await upsertAddressChange(trx, user, { kind: 'email', at: now() })
  return updateUser(trx, user.id, {
    email,
    email_confirmed_at: now(),
    raw_user_meta_data: confirmedMetadata(config, user.userMetadata, 'email'),
    is_anonymous: false,
  })
}

interface AcceptedInvitation {
  readonly account: ExternalAccount
  readonly inviteTokenHash: Buffer
  readonly ip: string
}

/**
 * Signs an invited user in by an external account and uses up the invitation. The token came from a mail, so it confirms the
 * user's email (reference: Invitations at a provider). Runs in a transaction of `withUniqueAccount`.
 * @throws inviteNotFound, consoleUserProtected, invitedEmailElsewhere, userBanned, identityTaken, StaleView
 */
export async function acceptInvitation(
  trx: Trx,
  deps: FindOwnerDeps,
  { account, inviteTokenHash, ip }: AcceptedInvitation,
): Promise<ExternalOutcome> {
  const invited = await lockInvitedUser(trx, deps, inviteTokenHash)
  refuseCustomProvider(account, invited)
  const matching = account.emails.find(({ email }) => email === invited.email)
  if (!matching) throw invitedEmailElsewhere()
  await requireSameSubjects(trx, account)
  const known = await findExternalIdentity(trx, account)
  requireOwnIdentity(known, invited.id)
  if (known) requireSameIssuer(known, account)
  const identity = known ?? (await insertExternalIdentity(trx, invited.id, account, deps.now()))
  const credentialSince = identitySince(identity, invited)
  const owner = {
    credentialSince,
    decision: 'link',
    user: await adoptProfile(trx, deps, invited, account),
    identityId: identity.id,
    isFirstAddress: false,
  } as const
  // The token from the mail proves the email, even if the provider does not verify it.
  const user = await confirmOwner(trx, deps, owner, { ...account, email: { ...matching, isVerified: true } })
  const traits = { provider: account.provider }
  await recordAudit(trx, deps, { action: 'invite_accepted', actor: user, ip, traits })
  return { verdict: 'signed-in', user, credentialSince }
}

async function lockInvitedUser(trx: Trx, { now }: Pick<FindOwnerDeps, 'now'>, linkHash: Buffer): Promise<User> {
  const token = await findTokenByLink(trx, linkHash, ACCEPTED_KINDS.invite)
  const user = token && (await lockUserById(trx, token.userId))
  const isValid = token && Date.parse(token.expiresAt) > now().getTime()
  if (!isValid || !user || user.invitedAt === null || user.deletedAt !== null) return refuseInvitation()
  // Otherwise an SSO user who has left the company could sign in by the identity.
  if (user.isSsoUser) return refuseInvitation()
  requireNotBanned(user, now())
  // A mail alone must not add another way into an account that is in use.
  const isConsumed = (await awaitsFirstSignIn({ db: trx }, user)) && (await claimToken(trx, { id: token.id, linkHash }))
  if (!isConsumed) refuseInvitation()
  return user
}

function refuseInvitation(): never {
  throw inviteNotFound()
}
