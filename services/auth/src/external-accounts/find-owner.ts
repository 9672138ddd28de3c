import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { sendEmailChange } from '../address-changes/request-address-change.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { overEmailRateLimit } from '../errors.ts'
import {
  externalEmailMailed,
  externalEmailUnverified,
  identityTaken,
  linkedEmailUnverified,
  severalOwners,
} from '../external-errors.ts'
import { CUSTOM_PREFIX, sharesSubjects } from '../external-providers/custom-provider.ts'
import { lockSubjects } from '../external-providers/custom-provider-repository.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { type ExternalAccount, type Identity, identitySince, trustedEmails } from '../identities/identity.ts'
import {
  findExternalIdentity,
  insertExternalIdentity,
  listOwnersOfEmails,
  updateExternalIdentity,
} from '../identities/identity-repository.ts'
import { type MessageRequestDeps, requestMessage } from '../message-requests/request-message.ts'
import { runHooked } from '../messages/hooked-transaction.ts'
import { requireChangeIntervals } from '../rate-limits/send-interval.ts'
import { toLoggedNames } from '../records/ids.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type ActiveCallerDeps, lockLinkingUser, requireShownFactor } from '../sessions/active-caller.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-repository.ts'
import { refuseTakenEmail, releaseUnused, StaleView } from '../users/claim-identifier.ts'
import { type MetadataRules, mergeClaims } from '../users/metadata.ts'
import { isPendingSignUp, leaveToOperators, requireNotBanned, requireUser, type User } from '../users/user.ts'
import {
  deletePendingSignUp,
  getUnchosenClaims,
  insertUser,
  updateProviders,
  updateUser,
} from '../users/user-change-repository.ts'
import { findIdentifierOwner, lockUserById } from '../users/user-repository.ts'

/** The locked user of an external account, and how it was found. */
export interface ExternalOwner {
  readonly decision: 'existing' | 'link' | 'create'
  readonly user: User
  readonly identityId: string
  /** Whether the external account has signed this user in before and now has an email for the first time. */
  readonly isFirstAddress: boolean
  /** Since when the identity can sign in to the account. `null` means since the account exists. */
  readonly credentialSince: Timestamp | null
}

export interface FindOwnerDeps extends AuditDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'database' | 'jwt' | 'mail' | 'signup'>
  readonly hooks: Pick<Hooks, 'isOn'>
  readonly jobs: Jobs
}

/**
 * Decides which user an external account signs in (reference: Owner of an external account): the user with its identity,
 * otherwise the only user with one of its trusted emails, otherwise a new user.
 * @returns `undefined` if a new user would have no email but needs one
 * @throws userNotFound, userBanned, consoleUserProtected, identityTaken, severalOwners, emailExists, signupDisabled, StaleView
 */
export async function findExternalOwner(
  trx: Trx,
  deps: FindOwnerDeps,
  account: ExternalAccount,
  context: RequestContext,
): Promise<ExternalOwner | undefined> {
  await requireSameSubjects(trx, account)
  const identity = await findExternalIdentity(trx, account)
  if (identity) return signInKnownIdentity(trx, deps, account, identity)
  const trust = deps.config.mail.autoconfirm ? 'all' : 'verified'
  const emails = trustedEmails(account, trust)
  const [ownerId, another] = await listOwnersOfEmails(trx, emails)
  if (another !== undefined) refuseSeveralOwners(deps)
  if (ownerId === undefined) return create(trx, deps, account, { emails, context })
  const user = await lockActiveUser(trx, deps, ownerId)
  // Check again, because the user's email may have changed while this transaction waited for the lock.
  const [still] = await listOwnersOfEmails(trx, emails)
  if (still !== ownerId) throw new StaleView()
  refuseCustomProvider(account, user)
  return link(trx, deps, user, { account, ip: context.ip })
}

/** Refuses operators at custom providers: an API admin could sign in as an operator with a provider of their own. */
export function refuseCustomProvider({ provider }: Pick<ExternalAccount, 'provider'>, user: User): void {
  if (provider.startsWith(CUSTOM_PREFIX)) leaveToOperators(user)
}

/**
 * Refuses an account whose identity has another issuer, because a subject is unique only within its issuer (OpenID Connect Core,
 * section 2). The settings of a custom provider may have changed during the sign-in. Identities of supabase/auth may have no
 * issuer.
 */
export function requireSameIssuer(identity: Pick<Identity, 'data'>, { provider, data }: ExternalAccount): void {
  if (!provider.startsWith(CUSTOM_PREFIX) || identity.data.iss === undefined) return
  if (identity.data.iss !== data.iss) refuseForeignIdentity()
}

/**
 * Locks the meaning of an external account's subject until the transaction ends. Refuses the account if an admin has changed the
 * provider meanwhile, because the subject could now be another person.
 */
export async function requireSameSubjects(
  trx: Trx,
  { provider, subjects }: Pick<ExternalAccount, 'provider' | 'subjects'>,
): Promise<void> {
  if (!subjects) return
  const present = await lockSubjects(trx, provider)
  if (!present || !sharesSubjects(present, subjects)) refuseForeignIdentity()
}

export function refuseForeignIdentity(): never {
  throw identityTaken()
}

/** Refuses an external account whose address belongs to several users, because it is unclear who owns it. */
function refuseSeveralOwners({ config }: Pick<FindOwnerDeps, 'config'>): never {
  if (config.compatibility.refuseSharedEmailAsTaken) refuseTakenEmail()
  throw severalOwners()
}

async function signInKnownIdentity(
  trx: Trx,
  deps: FindOwnerDeps,
  account: ExternalAccount,
  identity: Identity,
): Promise<ExternalOwner> {
  requireSameIssuer(identity, account)
  const { id, userId } = identity
  const owner = await lockUserById(trx, userId)
  // Check again: a request may have unlinked the identity or deleted its user while this transaction waited.
  if (!owner || (await findExternalIdentity(trx, account))?.userId !== userId) throw new StaleView()
  // A deletion by this service removes the subject from the identities, but SQL may have set only deleted_at.
  requireUser(owner.deletedAt === null ? owner : undefined)
  requireNotBanned(owner, deps.now())
  refuseCustomProvider(account, owner)
  await updateExternalIdentity(trx, id, account.data, deps.now())
  const user = await adoptProfile(trx, deps, owner, account)
  return {
    decision: 'existing',
    user,
    identityId: id,
    isFirstAddress: identity.email === null,
    credentialSince: identitySince(identity, owner),
  }
}

async function link(
  trx: Trx,
  deps: FindOwnerDeps,
  owner: User,
  { account, ip }: { readonly account: ExternalAccount; readonly ip: string },
): Promise<ExternalOwner> {
  const identity = await insertExternalIdentity(trx, owner.id, account, deps.now())
  const { id } = identity
  const user = await adoptProfile(trx, deps, owner, account)
  const traits = { identity_id: id, provider: account.provider, provider_id: account.subject }
  await recordAudit(trx, deps, { action: 'identity_linked', actor: user, ip, traits })
  return {
    decision: 'link',
    user,
    identityId: id,
    isFirstAddress: false,
    credentialSince: identitySince(identity, owner),
  }
}

async function create(
  trx: Trx,
  deps: FindOwnerDeps,
  account: ExternalAccount,
  { emails, context }: { readonly emails: readonly string[]; readonly context: RequestContext },
): Promise<ExternalOwner | undefined> {
  requireSignUpsEnabled(deps.config)
  if (!account.email && !account.emailOptional) return undefined
  const email = await freeEmail(trx, account, deps.now())
  // A concurrent request has taken the email. Search for its owner again instead of creating a second account.
  if (email === null && (await listOwnersOfEmails(trx, emails)).length > 0) throw new StaleView()
  const at = deps.now()
  const { provider } = account
  const appMetadata = { provider, providers: [provider] }
  const user = await insertUser(trx, {
    aud: context.audience,
    role: deps.config.jwt.defaultRole,
    email,
    raw_app_meta_data: appMetadata,
    raw_user_meta_data: mergeFitting(deps, { userMetadata: {}, appMetadata }, account),
    claimed_at: account.email ? null : at,
    created_at: at,
    updated_at: at,
  })
  const { id } = await insertExternalIdentity(trx, user.id, account, at)
  await queueUserCreated(trx, deps, { userId: user.id, ip: context.ip })
  return { decision: 'create', user, identityId: id, isFirstAddress: false, credentialSince: null }
}

/**
 * Returns the email of the external account, or `null` if it has none or a user has the email. Deletes a pending sign-up with the
 * email (reference: Pending sign-ups). If the provider has verified the email, takes it from an unused account (reference: Unused
 * accounts).
 * @throws StaleView if the user with the email has changed since it was read
 */
export async function freeEmail(trx: Trx, { email }: Pick<ExternalAccount, 'email'>, at: Date): Promise<string | null> {
  if (!email) return null
  if (email.isVerified) await releaseUnused(trx, { kind: 'email', value: email.email }, at)
  const owner = await findIdentifierOwner(trx, { kind: 'email', value: email.email })
  if (!owner) return email.email
  if (!isPendingSignUp(owner)) return null
  if (await deletePendingSignUp(trx, owner.id)) return email.email
  throw new StaleView()
}

/**
 * Copies the provider's profile into the user's metadata as far as it fits, except values that the user or an admin has set.
 * Updates the user's list of providers.
 */
export async function adoptProfile(
  trx: Trx,
  deps: Pick<FindOwnerDeps, 'logger' | 'now'> & { readonly config: Pick<AuthConfig, 'compatibility'> },
  user: User,
  { provider, data }: Pick<ExternalAccount, 'data' | 'provider'>,
): Promise<User> {
  const claims = { provider, data: await getUnchosenClaims(trx, deps.config, user.id, data) }
  await updateUser(trx, user.id, { raw_user_meta_data: mergeFitting(deps, user, claims), updated_at: deps.now() })
  return updateProviders(trx, user)
}

/** Merges a provider's claims into metadata. Logs only the names of claims that do not fit, as values are personal. */
function mergeFitting(
  { config, logger }: Pick<FindOwnerDeps, 'logger'> & { readonly config: MetadataRules },
  user: Pick<User, 'userMetadata' | 'appMetadata'> & Partial<Pick<User, 'id'>>,
  { data, provider }: Pick<ExternalAccount, 'data' | 'provider'>,
): Record<string, unknown> {
  const { merged, leftOut } = mergeClaims(config, user, data)
  if (leftOut.length > 0) {
    const what = { provider, claims: toLoggedNames(leftOut), user_id: user.id }
    logger.info(what, 'claims of a provider left out: with them no access token would fit into a header')
  }
  return merged
}

async function lockActiveUser(trx: Trx, { now }: Pick<FindOwnerDeps, 'now'>, id: string): Promise<User> {
  const user = await lockUserById(trx, id)
  if (!user || user.deletedAt !== null) throw new StaleView()
  requireNotBanned(user, now())
  return user
}

export type UnverifiedDeps = MessageRequestDeps & ActiveCallerDeps

/** An email that the provider has not verified. The identity is already stored. */
export interface UnverifiedEmail {
  readonly provider: string
  readonly user: Pick<User, 'id' | 'audience'>
  /** The account to which the identity was linked. `undefined` for a sign-in. */
  readonly linking: LinkingTarget | undefined
  /** The email to confirm by a mail. `undefined` if only the provider can verify it. */
  readonly mailTo?: string | undefined
  /** The mail uses the audience of the user instead of that of the request. */
  readonly context: Pick<RequestContext, 'audience' | 'redirectTo' | 'linkBase' | 'ip' | 'limitKey'>
}

/** Sends a confirmation mail, unless there is nothing to confirm or the last mail is too recent. */
export async function mailConfirmation(
  deps: UnverifiedDeps,
  { user: { audience }, mailTo, context }: Pick<UnverifiedEmail, 'user' | 'mailTo' | 'context'>,
): Promise<void> {
  if (mailTo === undefined) return
  const request = { purpose: 'confirmation', identifier: { kind: 'email', value: mailTo }, pkce: undefined } as const
  await requestMessage(deps, { ...request, context: { ...context, audience } }).catch(ignoreMailLimit)
}

function ignoreMailLimit(error: unknown): void {
  if (!(error instanceof HttpError && error.code === overEmailRateLimit.code)) throw error
}

/**
 * Mails a confirmation to the email of a linked identity if the user has no email. This is an email change, so the user gets the
 * email after confirming it. Nothing reveals whether another user has the email.
 */
async function mailEmailChange(
  deps: UnverifiedDeps,
  { user, mailTo: newEmail, context }: UnverifiedEmail,
  target: LinkingTarget,
): Promise<void> {
  if (newEmail === undefined) return
  const mail = { pkce: undefined, context: { ...context, audience: user.audience }, onlyIfFree: true } as const
  const allowance = await deps.rateLimits.email.take(context.limitKey)
  try {
    await runHooked(deps, async (trx, repeatable) => {
      // Like any address change, lock the user before the message intervals.
      const caller = await lockLinkingUser(trx, repeatable, target)
      const owner = caller.user
      if (owner.email !== null) return
      await requireShownFactor(trx, caller)
      await requireChangeIntervals(trx, repeatable, owner, { kind: 'email_change', address: newEmail })
      await sendEmailChange(trx, repeatable, owner, { newEmail, ...mail, sessionId: target.sessionId })
    })
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/** Sends a confirmation mail unless there is nothing to confirm, and always throws. */
export async function refuseUnverified(deps: UnverifiedDeps, unverified: UnverifiedEmail): Promise<never> {
  const { provider, linking, mailTo } = unverified
  await (linking
    ? mailEmailChange(deps, unverified, linking).catch(ignoreMailLimit)
    : mailConfirmation(deps, unverified))
  // Linking refuses only identities with an email, and sends a mail to it.
  if (linking) throw linkedEmailUnverified({ provider })
  if (mailTo === undefined) return refuseUnverifiedEmail(provider)
  throw externalEmailMailed({ provider })
}

export function refuseUnverifiedEmail(provider: string): never {
  throw externalEmailUnverified({ provider })
}
