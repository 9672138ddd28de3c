import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { hasClaimedEmail } from '../identities/claimed-email.ts'
import { hashOfUnknownPassword } from '../passwords/argon2.ts'
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
 * (contract 7.4); asking again renews the stage.
 * @returns undefined when there is nobody to send a code to, among them users of another audience
 */
export async function lockOrStageUser(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'jobs' | 'now' | 'randomBytes'>,
  { identifier, audience, stage }: StageUser,
): Promise<User | undefined> {
  const holder = await (stage
    ? lockOwnerOfIdentifier(trx, identifier, deps.now())
    : lockUserByIdentifier(trx, identifier))
  if (holder && !isStaged(holder)) {
    return holder.aud === audience && !(await hasClaimedEmail(trx, holder)) ? holder : undefined
  }
  if (!stage) return undefined
  if (holder) return updateUser(trx, holder.id, { ...renewed(stage.data), aud: audience, staged_at: deps.now() })
  const staged = await insertOwnUser(trx, deps, {
    identifier,
    aud: audience,
    passwordHash: hashOfUnknownPassword(deps.randomBytes),
    data: stage.data,
    since: { staged_at: deps.now() },
  })
  return staged ?? lockOrStageUser(trx, deps, { identifier, audience, stage })
}

/** Metadata that was sent before stays where the new request brings none. */
function renewed(data: Readonly<Record<string, unknown>>) {
  return Object.keys(data).length === 0 ? {} : { raw_user_meta_data: { ...data } }
}
