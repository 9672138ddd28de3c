import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Insertable } from 'kysely'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { deleteUnverifiedIdentities, insertIdentity } from '../identities/identity-repository.ts'
import { issueMailToken, type MailToken, type MailTokenDeps } from '../messages/mail-token.ts'
import { deleteTokensOfKinds, hasTokenSince } from '../one-time-tokens/one-time-token-repository.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { intervalMs } from '../rate-limits/send-interval.ts'
import { toUuid } from '../records/ids.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { getOrCreate, releaseAndLockOwner, requireUnconfirmed } from '../users/claim-identifier.ts'
import { mergeMetadata, signUpMetadata } from '../users/metadata.ts'
import { isPendingSignUp, type User, type UsersTable } from '../users/user.ts'
import {
  chosenNames,
  deletePendingSignUp,
  insertUnlessTaken,
  rememberChosen,
  setOwnIdentity,
  updateUser,
} from '../users/user-change-repository.ts'
import { hasClaimedEmail, isUnclaimed, lockIdentifierOwner } from '../users/user-repository.ts'
import { insertSignUpContent, replaceIdentityData, upsertSignUpContent } from './sign-up-repository.ts'

/** Inserting a user queues the hook AFTER_USER_CREATED. For a pending sign-up, this happens when it becomes a user. */
interface OwnUserDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'jwt'>
  readonly hooks: Pick<Hooks, 'isOn'>
  readonly jobs: Jobs
  readonly now: () => Date
  readonly randomBytes: RandomBytes
}

/** A user to insert, with one identifier of the user's own. */
interface NewOwnUser {
  /** A random UUID. If absent, one is generated. */
  readonly userId?: string
  readonly identifier: UserIdentifier
  readonly audience: string
  /** `null` for a user without a password. */
  readonly passwordHash: string | null
  readonly data: Readonly<Record<string, unknown>>
  /** Whether an admin has sent `data`. */
  readonly isInvited: boolean
  /** The columns with the state of an unconfirmed user and its time. */
  readonly since: Pick<Insertable<UsersTable>, 'staged_at' | 'invited_at' | 'confirmation_sent_at' | 'keep_unconfirmed'>
}

/**
 * Inserts an unconfirmed user with an email or a phone, and the identity of the user.
 * @returns `undefined` if a concurrent request has taken the identifier
 * @throws the unique violation of ACCOUNT_KEY if the subject is taken
 */
export async function insertOwnUser(
  trx: Trx,
  { config, hooks, jobs, now, randomBytes }: OwnUserDeps,
  { userId, identifier, audience, passwordHash, data, isInvited, since }: NewOwnUser,
): Promise<User | undefined> {
  const at = now()
  const { kind, value } = identifier
  const user = await insertUnlessTaken(trx, {
    ...since,
    // A hook may have received this id in a rehearsal, which used the same random bytes.
    id: userId ?? toUuid(randomBytes(16)),
    aud: audience,
    role: config.jwt.defaultRole,
    [kind]: value,
    encrypted_password: passwordHash,
    raw_app_meta_data: { provider: kind, providers: [kind] },
    raw_user_meta_data: { ...data },
    chosen_metadata: isInvited ? chosenNames(data) : null,
    created_at: at,
    updated_at: at,
  })
  if (!user) return undefined
  await insertIdentity(trx, {
    user_id: user.id,
    provider: kind,
    provider_id: user.id,
    identity_data: ownIdentityData(kind, { userId: user.id, value }, isInvited ? invitationData(config, data) : data),
    created_at: at,
    updated_at: at,
  })
  if (!since.staged_at) await queueUserCreated(trx, { hooks, jobs }, { userId: user.id, ip: '' })
  return user
}

/** The identity data of an invited email: the data of the invitation or none, depending on the profile. */
function invitationData(
  { compatibility }: Pick<AuthConfig, 'compatibility'>,
  data: NewOwnUser['data'],
): NewOwnUser['data'] {
  return compatibility.copyInvitationDataToIdentity ? data : {}
}

export interface PendingSignUpDeps extends OwnUserDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'jwt' | 'mail' | 'mfa' | 'passwords' | 'sms'>
  readonly randomBytes: RandomBytes
}

/** An identifier for which a code was requested, in the audience of the request. */
interface WantedUser {
  readonly identifier: UserIdentifier
  readonly audience: string
  /** Metadata of the pending sign-up. If `undefined`, none is added for an unknown identifier. */
  readonly stage: { readonly data: Readonly<Record<string, unknown>> } | undefined
}

/**
 * Locks the user who may sign in by a one-time code. For an unknown identifier, inserts a pending sign-up or renews an existing
 * one (reference: Pending sign-ups). If code requests create users, the new user is not pending.
 * @returns `undefined` if no code may be sent. Either no user has the identifier, an SSO user has it, or its user has another
 * audience. Or an unconfirmed user has got a message in another audience within the interval: the new code would let a stranger
 * replace that message
 */
export function lockOrAddPendingSignUp(
  trx: Trx,
  deps: PendingSignUpDeps,
  wanted: WantedUser,
): Promise<User | undefined> {
  return getOrCreate(() => lockOrAddOnce(trx, deps, wanted))
}

/** @returns `taken` if another request has just taken the identifier */
async function lockOrAddOnce(
  trx: Trx,
  deps: PendingSignUpDeps,
  { identifier, audience, stage }: WantedUser,
): Promise<User | 'taken' | undefined> {
  const owner = await (stage ? releaseAndLockOwner(trx, identifier, deps.now()) : lockIdentifierOwner(trx, identifier))
  if (owner?.isSsoUser) return undefined
  if (owner && owner.audience !== audience && (await hasRecentMessage(trx, deps, owner, identifier))) return undefined
  if (owner && !isPendingSignUp(owner)) return keepWantedContent(trx, owner, { identifier, audience, stage })
  if (!stage) return undefined
  if (deps.config.compatibility.createUserOnCodeRequest) {
    if (owner) await deletePendingSignUp(trx, owner.id)
    const user = await insertUnconfirmed(trx, deps, { identifier, audience, data: stage.data })
    return user ?? 'taken'
  }
  if (owner) return updatePendingSignUp(trx, deps, owner, { identifier, audience, data: stage.data })
  const pending = await insertOwnUser(trx, deps, {
    identifier,
    audience,
    passwordHash: hashOfUnknownPassword(deps.randomBytes, deps.config.passwords.algorithm),
    data: stage.data,
    isInvited: false,
    since: { staged_at: deps.now() },
  })
  return pending ?? 'taken'
}

/** Whether the last message to a user is newer than the interval. Each audience has its own intervals. */
function hasRecentMessage(
  trx: Trx,
  { config, now }: Pick<PendingSignUpDeps, 'config' | 'now'>,
  { id }: User,
  { kind }: UserIdentifier,
): Promise<boolean> {
  const interval = intervalMs(config, kind === 'email' ? 'recovery' : 'sms')
  return hasTokenSince(trx, id, new Date(now().getTime() - interval))
}

/**
 * Stores the values of this request, without a password. A user who confirms a sign-up by this code gets these values, because
 * another person may have signed up with other values.
 */
async function keepWantedContent(
  trx: Trx,
  owner: User,
  { identifier, audience, stage }: WantedUser,
): Promise<User | undefined> {
  if (await hasClaimedEmail(trx, owner)) return undefined
  if (owner.audience !== audience && !stage) return undefined
  const kind = identifier.kind === 'email' ? 'recovery' : 'sms'
  const content = { kind, audience, data: stage?.data ?? {}, passwordHash: null } as const
  const isOpen = await upsertSignUpContent(trx, owner, content)
  if (owner.audience === audience) return owner
  return isOpen ? updateUser(trx, owner.id, { aud: audience }) : undefined
}

interface PendingSignUpChange extends Omit<WantedUser, 'stage'> {
  readonly data: Readonly<Record<string, unknown>>
}

/** Inserts a user with an unknown password. @returns `undefined` if another request has just taken the identifier */
async function insertUnconfirmed(
  trx: Trx,
  deps: PendingSignUpDeps,
  { identifier, audience, data }: PendingSignUpChange,
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

/** Only the last request determines a pending sign-up, because earlier ones may come from an attacker. */
async function updatePendingSignUp(
  trx: Trx,
  { now }: Pick<PendingSignUpDeps, 'now'>,
  pending: User,
  { identifier, audience, data }: PendingSignUpChange,
): Promise<User> {
  await replaceIdentityData(trx, pending, identifier, data)
  return updateUser(trx, pending.id, { raw_user_meta_data: { ...data }, aud: audience, staged_at: now() })
}

/** The user whom an admin invites. */
export interface InvitedUser {
  /** The normalized email. */
  readonly email: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

interface InvitationMailDeps extends MailTokenDeps {
  readonly jobs: Jobs
}

/**
 * Queues the mail of an invitation with new secrets. They have their own row, so that no request of another person replaces an
 * invitation.
 */
export async function mailInvitation(
  trx: Trx,
  deps: InvitationMailDeps,
  message: Pick<InvitedUser, 'email' | 'context'> & Pick<MailToken, 'messageId'> & { readonly user: User },
): Promise<void> {
  await issueMailToken(trx, deps, {
    ...message,
    tokenKind: 'invitation',
    mailKind: 'INVITE',
    linkType: 'invite',
    linkPath: deps.config.mail.linkPaths.invite,
    flow: { method: 'invite', pkce: undefined },
  })
}

/**
 * Gets or creates the unconfirmed user of an invitation, and locks the user. The invitation replaces the metadata of a sign-up,
 * which may come from an attacker. In an unclaimed account, it also replaces the password and unverified identities at providers.
 */
export function getOrCreateInvited(trx: Trx, deps: OwnUserDeps, invitation: InvitedUser): Promise<User> {
  return getOrCreate(async () => (await inviteOnce(trx, deps, invitation)) ?? 'taken')
}

/** @returns `undefined` if another request has just taken the email */
async function inviteOnce(trx: Trx, deps: OwnUserDeps, invitation: InvitedUser): Promise<User | undefined> {
  const { email, data, context } = invitation
  const identifier = { kind: 'email', value: email } as const
  const at = deps.now()
  const since = { invited_at: at, confirmation_sent_at: at, keep_unconfirmed: true }
  const owner = await releaseAndLockOwner(trx, identifier, at)
  if (owner && !isPendingSignUp(owner)) {
    requireUnconfirmed(owner, context.audience)
    // Drop the metadata of the sign-up, which may come from an attacker.
    const beganWithSignUp = await upsertSignUpContent(trx, owner, {
      kind: 'confirmation',
      audience: owner.audience,
      data,
      passwordHash: null,
    })
    // An attacker may have requested a mail before the invitation. Its link must stop working.
    await deleteTokensOfKinds(trx, owner.id, ['confirmation'])
    if (beganWithSignUp) await replaceIdentityData(trx, owner, identifier, invitationData(deps.config, data))
    await rememberChosen(trx, owner.id, data)
    const mayHoldStrangers = await isUnclaimed(trx, owner)
    if (mayHoldStrangers && (await deleteUnverifiedIdentities(trx, owner.id))) {
      await setOwnIdentity(trx, owner, { identifier, isVerified: false, at })
    }
    return updateUser(trx, owner.id, {
      ...since,
      // An attacker may have signed up with this address. Their password must not work after the invitation.
      ...(mayHoldStrangers ? { encrypted_password: null } : {}),
      raw_user_meta_data: mergeMetadata(
        deps.config,
        { ...owner, ...(beganWithSignUp && { userMetadata: {} }) },
        { userMetadata: data },
      ).userMetadata,
      updated_at: at,
    })
  }
  if (owner) await deletePendingSignUp(trx, owner.id)
  return insertOwnUser(trx, deps, {
    identifier,
    audience: context.audience,
    passwordHash: null,
    data,
    isInvited: true,
    since,
  })
}
