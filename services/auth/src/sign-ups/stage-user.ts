import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { hasTokenSince } from '../one-time-tokens/one-time-token-repository.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { intervalMs } from '../rate-limits/send-interval.ts'
import { toUuid } from '../records/ids.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { signUpMetadata } from '../users/address-metadata.ts'
import { getOrCreate, releaseAndLockOwner } from '../users/claim-identifier.ts'
import { isStaged, type User } from '../users/user.ts'
import { deleteStagedUser, updateUser } from '../users/user-change-repository.ts'
import { hasClaimedEmail, lockIdentifierOwner } from '../users/user-repository.ts'
import { insertOwnUser, type OwnUserDeps } from './insert-own-user.ts'
import { insertSignUpContent, replaceIdentityData, upsertSignUpContent } from './sign-up-content-repository.ts'

/**
 * The dependencies of a user who has asked for a code and is not confirmed: the defaults of new users, and
 * random bytes for a hash of no password.
 */
export interface StageDeps extends OwnUserDeps {
  readonly config: Pick<AuthConfig, 'behaviours' | 'jwt' | 'mail' | 'mfa' | 'passwords' | 'sms'>
  readonly randomBytes: RandomBytes
}

/** An identifier that asked for a code, in the audience of its request. */
export interface StageUser {
  readonly identifier: UserIdentifier
  readonly audience: string
  /** Metadata of the staged user; undefined: no user is staged for an unknown identifier. */
  readonly stage: { readonly data: Readonly<Record<string, unknown>> } | undefined
}

/**
 * Locks the user who may sign in by a one-time code. For an unknown identifier it inserts a staged user, or renews the one that
 * waits already (reference: Staged users). Where codes sign up, the new user is not staged.
 * @returns undefined when no code may be sent: nobody has the identifier, an SSO user has it, or its user
 * belongs to another audience. Also while a message of another audience to an unconfirmed user is younger
 * than the interval, because a stranger could replace it
 * @throws what `getOrCreate` throws
 */
export function lockOrStageUser(trx: Trx, deps: StageDeps, wanted: StageUser): Promise<User | undefined> {
  return getOrCreate(() => lockOrStageOnce(trx, deps, wanted))
}

/** @returns `taken` when another request has just taken the identifier */
async function lockOrStageOnce(
  trx: Trx,
  deps: StageDeps,
  { identifier, audience, stage }: StageUser,
): Promise<User | 'taken' | undefined> {
  const owner = await (stage ? releaseAndLockOwner(trx, identifier, deps.now()) : lockIdentifierOwner(trx, identifier))
  if (owner?.isSsoUser) return undefined
  if (owner && owner.audience !== audience && (await hasRecentMessage(trx, deps, owner, identifier))) return undefined
  if (owner && !isStaged(owner)) return keepWantedContent(trx, owner, { identifier, audience, stage })
  if (!stage) return undefined
  if (deps.config.behaviours.createUserOnCodeRequest) {
    if (owner) await deleteStagedUser(trx, owner.id)
    const user = await insertUnconfirmed(trx, deps, { identifier, audience, data: stage.data })
    return user ?? 'taken'
  }
  if (owner) return updateStagedUser(trx, deps, owner, { identifier, audience, data: stage.data })
  const staged = await insertOwnUser(trx, deps, {
    identifier,
    audience,
    passwordHash: hashOfUnknownPassword(deps.randomBytes, deps.config.passwords.algorithm),
    data: stage.data,
    isInvited: false,
    since: { staged_at: deps.now() },
  })
  return staged ?? 'taken'
}

/** Whether the last message to a user is younger than the interval. Each audience counts intervals for itself. */
function hasRecentMessage(
  trx: Trx,
  { config, now }: Pick<StageDeps, 'config' | 'now'>,
  { id }: User,
  { kind }: UserIdentifier,
): Promise<boolean> {
  const interval = intervalMs(config, kind === 'email' ? 'recovery' : 'sms')
  return hasTokenSince(trx, id, new Date(now().getTime() - interval))
}

/**
 * The user who confirms a sign-up by this code takes the account over, as this request asks for it: without a password, with the
 * metadata of this request, and out of the audience in which a stranger may have signed up.
 */
async function keepWantedContent(
  trx: Trx,
  owner: User,
  { identifier, audience, stage }: StageUser,
): Promise<User | undefined> {
  if (await hasClaimedEmail(trx, owner)) return undefined
  if (owner.audience !== audience && !stage) return undefined
  const kind = identifier.kind === 'email' ? 'recovery' : 'sms'
  const content = { kind, audience, data: stage?.data ?? {}, passwordHash: null } as const
  const isOpen = await upsertSignUpContent(trx, owner, content)
  if (owner.audience === audience) return owner
  return isOpen ? updateUser(trx, owner.id, { aud: audience }) : undefined
}

interface StagedUserChange extends Omit<StageUser, 'stage'> {
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * Inserts a user as a sign-up does whose password nobody knows.
 * @returns undefined when somebody has just taken the identifier
 */
async function insertUnconfirmed(
  trx: Trx,
  deps: StageDeps,
  { identifier, audience, data }: StagedUserChange,
): Promise<User | undefined> {
  const userId = toUuid(deps.randomBytes(16))
  const passwordHash = hashOfUnknownPassword(deps.randomBytes, deps.config.passwords.algorithm)
  const user = await insertOwnUser(trx, deps, {
    userId,
    identifier,
    audience,
    passwordHash,
    data: signUpMetadata(deps.config, data, { ...identifier, userId, isVerified: false }),
    isInvited: false,
    since: { confirmation_sent_at: deps.now() },
  })
  const kind = identifier.kind === 'email' ? 'recovery' : 'sms'
  if (user) await insertSignUpContent(trx, user, { kind, audience, data, passwordHash })
  return user
}

/** The last request alone decides about a staged user: an earlier request may have been a stranger's. */
async function updateStagedUser(
  trx: Trx,
  { now }: Pick<StageDeps, 'now'>,
  staged: User,
  { identifier, audience, data }: StagedUserChange,
): Promise<User> {
  await replaceIdentityData(trx, staged, identifier, data)
  return updateUser(trx, staged.id, { raw_user_meta_data: { ...data }, aud: audience, staged_at: now() })
}
