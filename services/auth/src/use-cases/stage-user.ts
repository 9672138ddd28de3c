import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { hasClaimedEmail } from '../identities/claimed-email.ts'
import { hasTokenSince } from '../one-time-tokens/one-time-token-repository.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { intervalMs } from '../rate-limits/send-interval.ts'
import { keepSignUpContent, replaceIdentityData } from '../users/sign-up-content-repository.ts'
import { isStaged, type User } from '../users/user.ts'
import {
  lockOwnerOfIdentifier,
  lockUserByIdentifier,
  type UserIdentifier,
  updateUser,
} from '../users/user-repository.ts'
import { insertOwnUser } from './insert-own-user.ts'

export interface StageUser {
  readonly identifier: UserIdentifier
  readonly audience: string
  /** Metadata of the staged user; undefined: an unknown identifier is left unknown. */
  readonly stage: { readonly data: Readonly<Record<string, unknown>> } | undefined
}

/**
 * Locks the user who may sign in by a one-time code. An identifier that nobody has becomes a staged user, who is no user yet
 * (reference: Staged users); asking again renews the stage.
 * @returns undefined when there is nobody to send a code to, among them users of another audience, and those whom nobody has
 * confirmed while a message of another audience is younger than the interval: a stranger would replace it
 */
export async function lockOrStageUser(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'jobs' | 'now' | 'randomBytes'>,
  { identifier, audience, stage }: StageUser,
): Promise<User | undefined> {
  const holder = await (stage
    ? lockOwnerOfIdentifier(trx, identifier, deps.now())
    : lockUserByIdentifier(trx, identifier))
  if (holder && holder.aud !== audience && (await isHeld(trx, deps, holder, identifier))) return undefined
  if (holder && !isStaged(holder)) return admit(trx, holder, { identifier, audience, stage })
  if (!stage) return undefined
  if (holder) return renew(trx, deps, holder, { identifier, audience, data: stage.data })
  const staged = await insertOwnUser(trx, deps, {
    identifier,
    aud: audience,
    passwordHash: hashOfUnknownPassword(deps.randomBytes),
    data: stage.data,
    since: { staged_at: deps.now() },
  })
  return staged ?? lockOrStageUser(trx, deps, { identifier, audience, stage })
}

/** Whether the last message to somebody is younger than the interval, which each audience counts for itself. */
function isHeld(
  trx: Transaction<AuthDatabase>,
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  { id }: User,
  { kind }: UserIdentifier,
): Promise<boolean> {
  const interval = intervalMs(config, kind === 'email' ? 'recovery' : 'sms')
  return hasTokenSince(trx, id, new Date(now().getTime() - interval))
}

/**
 * Whoever confirms an account that began with a signup by this code takes it over as this request wants it: without a password,
 * with its metadata, and from an audience in which a stranger may have signed up.
 */
async function admit(
  trx: Transaction<AuthDatabase>,
  holder: User,
  { identifier, audience, stage }: StageUser,
): Promise<User | undefined> {
  if (await hasClaimedEmail(trx, holder)) return undefined
  if (holder.aud !== audience && !stage) return undefined
  const kind = identifier.kind === 'email' ? 'recovery' : 'sms'
  const content = { kind, aud: audience, data: stage?.data ?? {}, passwordHash: null } as const
  const isOpen = await keepSignUpContent(trx, holder, content)
  if (holder.aud === audience) return holder
  return isOpen ? updateUser(trx, holder.id, { aud: audience }) : undefined
}

interface Renewal extends Omit<StageUser, 'stage'> {
  readonly data: Readonly<Record<string, unknown>>
}

/** A stage is that of the last request alone: an earlier one may have been a stranger's. */
async function renew(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  staged: User,
  { identifier, audience, data }: Renewal,
): Promise<User> {
  await replaceIdentityData(trx, staged, identifier, data)
  return updateUser(trx, staged.id, { raw_user_meta_data: { ...data }, aud: audience, staged_at: now() })
}
