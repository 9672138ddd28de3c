import { toRfc3339 } from '@trestle/database/open-server.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db, IdentitiesTable } from '../database.ts'
import type { Factor } from '../factors/factor.ts'
import { type FactorRow, toFactor } from '../factors/factor-repository.ts'
import type { Identity } from '../identities/identity.ts'
import { toIdentity } from '../identities/identity-repository.ts'
import { requireUser, TIME_COLUMNS, toUser, USER_COLUMNS, type User, type UsersTable } from './user.ts'

/** All data of a user record. The password hash stays in the database. */
export interface Profile {
  readonly user: User
  /** Oldest first. */
  readonly identities: readonly Identity[]
  /** Oldest first. */
  readonly factors: readonly Factor[]
}

type UserRow = Omit<Selectable<UsersTable>, 'encrypted_password'>
/** A profile in the JSON format of PostgreSQL. */
export interface ProfileJson {
  readonly user: { -readonly [Column in keyof UserRow]: UserRow[Column] }
  readonly identities: readonly Selectable<IdentitiesTable>[] | null
  readonly factors: readonly FactorRow[] | null
}

/** A profile as a row: the user's columns, with identities and factors as JSON. */
export type ProfileRow = UserRow & Pick<ProfileJson, 'identities' | 'factors'>

/** The columns of a profile, for a query with `users` as `u`. */
export function profileColumns(): RawBuilder<ProfileRow> {
  return sql`${sql.join(USER_COLUMNS.map((name) => sql`u.${sql.ref(name)}`))},
    (SELECT json_agg(i) FROM (SELECT * FROM ${sql.table('identities')} WHERE user_id = u.id ORDER BY created_at, id) i) AS identities,
    ${factorsColumn()}`
}

/**
 * The same columns with empty metadata and identity claims. Users write these themselves, up to a megabyte each, so lists that do
 * not show them do not read them.
 */
export function briefProfileColumns(): RawBuilder<ProfileRow> {
  return sql`${sql.join(USER_COLUMNS.map((name) => (EMPTY_IN_BRIEF.has(name) ? sql`'{}'::jsonb AS ${sql.ref(name)}` : sql`u.${sql.ref(name)}`)))},
    (SELECT json_agg(json_build_object('id', i.id, 'provider_id', i.provider_id, 'user_id', i.user_id, 'provider', i.provider,
        'identity_data', '{}'::jsonb, 'last_sign_in_at', i.last_sign_in_at, 'created_at', i.created_at,
        'updated_at', i.updated_at, 'email', i.email) ORDER BY i.created_at, i.id)
      FROM ${sql.table('identities')} i WHERE i.user_id = u.id) AS identities,
    ${factorsColumn()}`
}

const EMPTY_IN_BRIEF: ReadonlySet<string> = new Set(['raw_app_meta_data', 'raw_user_meta_data'])

function factorsColumn(): RawBuilder<unknown> {
  return sql`(SELECT json_agg(json_build_object('id', f.id, 'friendly_name', f.friendly_name, 'factor_type', f.factor_type,
        'status', f.status, 'phone', f.phone, 'last_challenged_at', f.last_challenged_at, 'created_at', f.created_at,
        'updated_at', f.updated_at) ORDER BY f.created_at, f.id)
      FROM ${sql.table('user_factors')} f WHERE f.user_id = u.id) AS factors`
}

/** Maps a row of `profileColumns`. It has no password hash. */
export function toProfile(row: ProfileRow): Profile {
  return {
    user: toUser({ ...row, encrypted_password: null }),
    identities: (row.identities ?? []).map(toIdentityOfJson),
    factors: (row.factors ?? []).map(toFactorOfJson),
  }
}

/** Maps a profile from an SQL function. Changes the timestamps of its argument, so the caller must not use it again. */
export function toProfileOfJson({ user, identities, factors }: ProfileJson): Profile {
  for (const column of TIME_COLUMNS) {
    const text = user[column]
    if (text !== null) user[column] = toRfc3339(text)
  }
  return toProfile({ ...user, identities, factors })
}

/** Converts the timestamps, because PostgreSQL formats them differently inside JSON. */
function toIdentityOfJson(row: Selectable<IdentitiesTable>): Identity {
  return toIdentity({
    ...row,
    last_sign_in_at: row.last_sign_in_at && toRfc3339(row.last_sign_in_at),
    created_at: row.created_at && toRfc3339(row.created_at),
    updated_at: row.updated_at && toRfc3339(row.updated_at),
  })
}

function toFactorOfJson(row: FactorRow): Factor {
  return toFactor({
    ...row,
    last_challenged_at: row.last_challenged_at && toRfc3339(row.last_challenged_at),
    created_at: toRfc3339(row.created_at),
    updated_at: toRfc3339(row.updated_at),
  })
}

interface ProfileQuery {
  readonly userId: string
  /** If it is `undefined`, users of any audience are found. */
  readonly audience: string | undefined
}

const findProfileQuery: PreparedQuery<ProfileQuery, ProfileRow> = prepare(
  'find_profile',
  (p) => sql`SELECT ${profileColumns()} FROM ${sql.table('users')} u
    WHERE u.id = ${p.userId} AND u.staged_at IS NULL AND (${p.audience}::text IS NULL OR u.aud = ${p.audience})`,
)

/** Returns the profile of the user in an admin's request. Finds deleted users, but not pending sign-ups. */
export async function getManagedProfile(pools: Pools, query: ProfileQuery): Promise<Profile> {
  return toProfile(requireUser(await pools.read.first(findProfileQuery, query)))
}

/** Finds a user of any audience, or a pending sign-up. `undefined` if the id is unknown. */
export async function findProfileById(db: Db, userId: string): Promise<Profile | undefined> {
  const query = sql<ProfileRow>`SELECT ${profileColumns()} FROM ${sql.table('users')} u WHERE u.id = ${userId}`
  const { rows } = await query.execute(db)
  return rows[0] && toProfile(rows[0])
}

/** Returns the profile of a user that the transaction has changed. @throws Error if the user does not exist */
export async function getProfile(trx: Db, userId: string): Promise<Profile> {
  const profile = await findProfileById(trx, userId)
  if (!profile) throw new Error('no such user')
  return profile
}

/** The caller as a user, and the session of the access token. */
export interface OwnUserQuery {
  readonly userId: string
  /** The session that must exist, or `null` if none is required. */
  readonly sessionId: string | null
}

export interface OwnUser extends Profile {
  readonly isBanned: boolean
  /** `true` for a token without a session. */
  readonly isSessionLive: boolean
}

interface OwnUserRow extends ProfileRow {
  readonly is_banned: boolean | null
  readonly is_session_live: boolean
}

const selectOwnUser = sql`SELECT ${profileColumns()}, u.banned_until > now() AS is_banned`

const findOwnUserQuery: PreparedQuery<Pick<OwnUserQuery, 'userId'>, OwnUserRow> = prepare(
  'find_own_user',
  (p) => sql`${selectOwnUser}, true AS is_session_live
    FROM ${sql.table('users')} u WHERE u.id = ${p.userId} AND u.deleted_at IS NULL`,
)

const findOwnUserOfSession: PreparedQuery<OwnUserQuery, OwnUserRow> = prepare(
  'find_own_user_of_session',
  (p) => sql`${selectOwnUser}, EXISTS (
      SELECT FROM ${sql.table('sessions')} s WHERE s.id = ${p.sessionId} AND s.user_id = u.id) AS is_session_live
    FROM ${sql.table('users')} u WHERE u.id = ${p.userId} AND u.deleted_at IS NULL`,
)

/**
 * Finds the profile of a caller, and whether the caller may still act, in one statement without a lock. Returns `undefined` if
 * the user does not exist or is deleted.
 */
export async function findOwnUser(pools: Pools, query: OwnUserQuery): Promise<OwnUser | undefined> {
  const row = await pools.read.first(query.sessionId === null ? findOwnUserQuery : findOwnUserOfSession, query)
  return row && { ...toProfile(row), isBanned: row.is_banned ?? false, isSessionLive: row.is_session_live }
}
