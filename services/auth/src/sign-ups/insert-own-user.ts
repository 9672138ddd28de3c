import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Insertable } from 'kysely'
import type { AuthConfig } from '../config.ts'
import type { Trx, UsersTable } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { queueUserCreated } from '../hooks/user-created-job.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { insertIdentity } from '../identities/identity-repository.ts'
import { toUuid } from '../records/ids.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { chosenNames } from '../users/chosen-metadata-repository.ts'
import type { User } from '../users/user.ts'
import { insertUnlessTaken } from '../users/user-change-repository.ts'

/**
 * The dependencies of a new user. The hook AFTER_USER_CREATED is called by a job, and later for a staged
 * user, who is no user yet.
 */
export interface OwnUserDeps {
  readonly config: Pick<AuthConfig, 'behaviours' | 'jwt'>
  readonly hooks: Pick<Hooks, 'isOn'>
  readonly jobs: Jobs
  readonly now: () => Date
  readonly randomBytes: RandomBytes
}

/** A user who is about to be inserted, known by one identifier of their own. */
export interface NewOwnUser {
  /** A random UUID. Without it the id is made here. */
  readonly userId?: string
  readonly identifier: UserIdentifier
  readonly audience: string
  /** Null for a user without a password. */
  readonly passwordHash: string | null
  readonly data: Readonly<Record<string, unknown>>
  /** Whether an admin has sent the data. */
  readonly isInvited: boolean
  /** The columns that say what the user waits for, and since when. */
  readonly since: Pick<Insertable<UsersTable>, 'staged_at' | 'invited_at' | 'confirmation_sent_at' | 'keep_unconfirmed'>
}

/**
 * Adds an unconfirmed user with an email or a phone, and its identity.
 * @returns undefined when a concurrent request has taken the identifier
 * @throws the unique violation of ACCOUNT_KEY when the subject is taken
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
    // A hook may have been told this id in a rehearsal, which drew the same bytes.
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

/** The data of the identity of an invited email: the data of the invitation, or none, by profile. */
export function invitationData(
  { behaviours }: Pick<AuthConfig, 'behaviours'>,
  data: NewOwnUser['data'],
): NewOwnUser['data'] {
  return behaviours.copyInvitationDataToIdentity ? data : {}
}
