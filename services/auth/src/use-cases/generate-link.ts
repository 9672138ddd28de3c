import { adminTraits, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { emailUnknown, secureChangeOff } from '../errors.ts'
import { askBeforeOwnUser } from '../hooks/user-created-job.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import { confirmationUrl, generatedLinkPath } from '../messages/mail-template.ts'
import { generateMailSecrets } from '../messages/mail-token.ts'
import { deleteEmailChangeTokens, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import { type GeneratedLink, LINK_RULES, type LinkType } from '../one-time-tokens/verify-request.ts'
import { type BreachLookup, refuseBreached } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { requirePassword, requireSignUpPassword } from '../passwords/password-policy.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { startInterval } from '../rate-limits/send-interval.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { Admin } from '../sessions/admin.ts'
import { getOrCreateInvited, insertOwnUser } from '../sign-ups/insert-own-user.ts'
import { upsertSignUpContent } from '../sign-ups/sign-up-repository.ts'
import {
  getOrCreate,
  releaseAndLockOwner,
  requireNewIdentifier,
  requireOwnerAudience,
  requireUnconfirmed,
} from '../users/claim-identifier.ts'
import { mergeMetadata, NO_METADATA } from '../users/metadata.ts'
import { getProfile } from '../users/profile-repository.ts'
import { isPendingSignUp, type User } from '../users/user.ts'
import { deletePendingSignUp, rememberChosen, updateUser } from '../users/user-change-repository.ts'
import { findIdentifierOwner, hasClaimedEmail, lockIdentifierOwner } from '../users/user-repository.ts'

type GenerateLinkDeps = HookedDeps & BreachLookup & { readonly config: AuthConfig; readonly passwords: PasswordHasher }

/** The link that an admin requests. Addresses are normalized. */
export interface GenerateLinkInput {
  readonly type: LinkType
  readonly email: string
  /** Only for an email change. */
  readonly newEmail: string
  /** Only for a sign-up. */
  readonly password: string | undefined
  readonly data: Readonly<Record<string, unknown>>
  readonly admin: Admin
  readonly context: RequestContext
}

/** Generates a link and a code without sending a mail. No limits and intervals apply (reference: Generated links). */
export async function generateLink(deps: GenerateLinkDeps, input: GenerateLinkInput): Promise<GeneratedLink> {
  if (LINK_RULES[input.type].makesUser)
    await askBeforeOwnUser(deps, { ...input, identifier: { kind: 'email', value: input.email } })
  const passwordHash = input.type === 'signup' && input.password ? await hashPassword(deps, input.password) : undefined
  const link = await runHooked(deps, async (trx, repeatable) => {
    const owner = await getOrCreateLinkOwner(trx, repeatable, { ...input, passwordHash })
    return storeLink(trx, repeatable, owner, input)
  })
  const { kind } = LINK_RULES[link.verificationType]
  const { id: userId } = link.user
  await startInterval(deps, { kind, userId, identifier: input.email, audience: input.context.audience })
  return link
}

/** Hashes without checking the policy. It applies only to new users, and `createUser` checks it. */
async function hashPassword(
  deps: Pick<GenerateLinkDeps, 'config' | 'logger' | 'passwords' | 'outbound'>,
  password: string,
): Promise<string> {
  await refuseBreached(deps, password)
  return deps.passwords.hash(password)
}

interface LinkOwner {
  readonly user: User
  readonly type: LinkType
  /** The address that the link confirms. */
  readonly address: string
}

interface Search extends Omit<GenerateLinkInput, 'admin'> {
  /** `undefined` if the link is not for a sign-up, or the sign-up has no password. */
  readonly passwordHash: string | undefined
}

/** Gets or creates the user of a link, and locks the user (reference: Generated links). */
function getOrCreateLinkOwner(trx: Trx, deps: Repeatable<GenerateLinkDeps>, search: Search): Promise<LinkOwner> {
  return getOrCreate(async () => (await searchLinkOwner(trx, deps, search)) ?? 'taken')
}

/** @returns `undefined` if another request has just created the user */
async function searchLinkOwner(
  trx: Trx,
  deps: Repeatable<GenerateLinkDeps>,
  search: Search,
): Promise<LinkOwner | undefined> {
  const { type, email: address } = search
  if (type === 'invite') return { user: await getOrCreateInvited(trx, deps, search), type, address }
  const user = await lockKnownUser(trx, deps, search)
  if (type === 'signup' || (type === 'magiclink' && !user)) {
    const signedUp = user ? await addContent(trx, deps, user, search) : await createUser(trx, deps, search)
    return signedUp && { user: signedUp, type: 'signup', address }
  }
  if (!user) throw emailUnknown()
  if (type === 'magiclink' || type === 'recovery') {
    await upsertSignUpContent(trx, user, { kind: 'recovery', audience: user.audience, data: {}, passwordHash: null })
    return { user, type, address }
  }
  return { user, type, address: await storeEmailChange(trx, deps, user, search) }
}

/** Ignores pending sign-ups and users of another audience. Links that may create users refuse a taken address. */
async function lockKnownUser(
  trx: Trx,
  { now }: Pick<GenerateLinkDeps, 'now'>,
  { type, email, context }: Search,
): Promise<User | undefined> {
  const identifier = { kind: 'email', value: email } as const
  const lock = LINK_RULES[type].makesUser
    ? releaseAndLockOwner(trx, identifier, now())
    : lockIdentifierOwner(trx, identifier)
  const owner = await lock
  if (!owner || isPendingSignUp(owner)) return undefined
  if (type === 'recovery' && (await hasClaimedEmail(trx, owner))) return undefined
  if (type === 'signup') requireUnconfirmed(owner, context.audience)
  if (type === 'magiclink') requireOwnerAudience(owner, context.audience)
  return owner.audience === context.audience ? owner : undefined
}

/** Prevents the clean-up of unconfirmed users whom an admin created or requested a link for. */
const KEEP_UNCONFIRMED = { keep_unconfirmed: true }

/** Adds the data and the password of a sign-up to an unconfirmed user. */
async function addContent(
  trx: Trx,
  { config }: Pick<GenerateLinkDeps, 'config'>,
  user: User,
  { data, passwordHash }: Search,
): Promise<User> {
  const content = { audience: user.audience, data, passwordHash: passwordHash ?? null }
  await upsertSignUpContent(trx, user, { kind: 'confirmation', ...content })
  const { userMetadata } = mergeMetadata(config, user, { userMetadata: data })
  await rememberChosen(trx, user.id, data)
  return updateUser(trx, user.id, { ...KEEP_UNCONFIRMED, raw_user_meta_data: userMetadata })
}

/**
 * Creates a user, replacing a pending sign-up. A magic link for an unknown address needs no password.
 * @returns `undefined` if another request has just taken the address
 */
async function createUser(
  trx: Trx,
  deps: Repeatable<GenerateLinkDeps>,
  { type, email, context, password, data, passwordHash }: Search,
): Promise<User | undefined> {
  const { policy, algorithm } = deps.config.passwords
  if (type === 'signup') requirePassword(policy, requireSignUpPassword(password))
  const identifier = { kind: 'email', value: email } as const
  const owner = await findIdentifierOwner(trx, identifier)
  if (owner && isPendingSignUp(owner)) await deletePendingSignUp(trx, owner.id)
  return insertOwnUser(trx, deps, {
    identifier,
    audience: context.audience,
    passwordHash: passwordHash ?? hashOfUnknownPassword(deps.randomBytes, algorithm),
    data: mergeMetadata(deps.config, NO_METADATA, { userMetadata: data }).userMetadata,
    isInvited: true,
    since: KEEP_UNCONFIRMED,
  })
}

/** Stores a pending email change and deletes earlier confirmations. @returns the address that the link confirms */
async function storeEmailChange(
  trx: Trx,
  deps: Pick<GenerateLinkDeps, 'config' | 'now'>,
  user: User,
  { type, email, newEmail }: Search,
): Promise<string> {
  if (type === 'email_change_current' && !deps.config.mail.secureEmailChange) throw secureChangeOff()
  await requireNewIdentifier(trx, user, { kind: 'email', value: newEmail })
  // A token of the current address is valid for only one change.
  if (user.emailChange !== newEmail) await deleteEmailChangeTokens(trx, user.id)
  const change = {
    email_change: newEmail,
    email_change_confirm_status: 0,
    email_change_asked_at: deps.now(),
    email_change_session_id: null,
  }
  await updateUser(trx, user.id, change)
  return type === 'email_change_current' ? email : newEmail
}

async function storeLink(
  trx: Trx,
  deps: Repeatable<GenerateLinkDeps>,
  { user, type, address }: LinkOwner,
  { admin, context }: GenerateLinkInput,
): Promise<GeneratedLink> {
  admin.requireMayManage(user)
  const { kind, linkType, sentAt, action } = LINK_RULES[type]
  const { secrets, link, code } = generateMailSecrets(deps, { email: address, tokenKind: kind }, 'implicit')
  await replaceToken(trx, { ...secrets, userId: user.id, flowStateId: null })
  await updateUser(trx, user.id, { [sentAt]: secrets.sentAt, updated_at: secrets.sentAt })
  await recordAudit(trx, deps, { action, actor: admin.actor, target: user, ip: context.ip, traits: adminTraits(user) })
  const { linkBase: base, redirectTo } = context
  return {
    ...(await getProfile(trx, user.id)),
    url: confirmationUrl({
      base,
      path: generatedLinkPath(deps.config, linkType),
      token: link,
      type: linkType,
      redirectTo,
    }),
    token: link,
    code,
    linkType,
    verificationType: type,
  }
}
