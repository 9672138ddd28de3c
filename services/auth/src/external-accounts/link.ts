import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { manualLinkingDisabled } from '../errors.ts'
import { identityLinked } from '../external-errors.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { findExternalIdentity, insertExternalIdentity } from '../identities/external-identity-repository.ts'
import { type NotifyDeps, notify } from '../messages/notification.ts'
import { deleteAnonymousChanges } from '../one-time-tokens/pending-change-repository.ts'
import { type ActiveCallerDeps, lockLinkingUser } from '../sessions/active-caller.ts'
import { requireIdentityFactor, requireLinkable, requireShownFactor } from '../sessions/require-owner.ts'
import { confirmedMetadata } from '../users/address-metadata.ts'
import { claimAccountEmail, releaseUnused } from '../users/claim-identifier.ts'
import { updateProviders } from '../users/own-identity.ts'
import type { User } from '../users/user.ts'
import { updateUser, upsertAddressChange } from '../users/user-change-repository.ts'
import { adoptProfile, refuseCustomProvider, refuseForeignIdentity, requireSameSubjects } from './find-owner.ts'
import type { ExternalOutcome } from './sign-in.ts'

/** The dependencies of linking: the caller is checked again, the event is recorded, and the user is notified. */
export interface LinkDeps extends AuditDeps, NotifyDeps, ActiveCallerDeps {
  readonly config: Pick<AuthConfig, 'behaviours' | 'database' | 'jwt' | 'mail' | 'security' | 'sessions' | 'signup'>
}

/** An external account, and the user whom it is to be linked to. */
export interface ExternalLink {
  readonly account: ExternalAccount
  readonly target: LinkingTarget
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Requires that users may link and unlink identities themselves. @throws manualLinkingDisabled */
export function requireManualLinking({ security }: Pick<AuthConfig, 'security'>): void {
  if (!security.manualLinkingEnabled) throw manualLinkingDisabled()
}

/** Requires that no user but this one has the identity of an external account. @throws identityTaken */
export function requireOwnIdentity(known: { readonly userId: string } | undefined, userId: string): void {
  if (known && known.userId !== userId) refuseForeignIdentity()
}

/**
 * Links the identity of an external account to a signed-in user (reference: Linking). A user without an email
 * gets the email of the account, if it is verified, because access tokens present it as the user's own. In
 * that case a user with a second factor must have shown it. Runs in a transaction of `withUniqueAccount`.
 * @throws ssoIdentity, consoleUserProtected,
 * identityLinked, identityTaken, identitiesNeedSecondFactor, emailExists, tokenUserNotFound, userBanned,
 * sessionNotFound, StaleView
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
  // The account gets its first email, at once or after a mail. Like any change of email, that needs the second factor.
  if (owner.email === null && account.email) await requireShownFactor(trx, caller)
  const { id } = await insertExternalIdentity(trx, owner.id, account, deps.now())
  const adopted = await deleteAnonymousChanges(trx, deps.config, owner, await adoptEmail(trx, deps, owner, account))
  const user = deps.config.behaviours.mergeProfileOnLinking
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
  // An identity without an address signs the user in by itself, so clean-up must not delete the user as anonymous.
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
