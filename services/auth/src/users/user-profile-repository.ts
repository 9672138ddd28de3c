import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type Kysely, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { type Profile, type ProfileRow, profileColumns, toProfile } from './profile.ts'

interface ProfileQuery {
  readonly userId: string
  /** Undefined finds users of any. */
  readonly audience: string | undefined
}

const findProfileQuery: PreparedQuery<ProfileQuery, ProfileRow> = prepare(
  'find_profile',
  (p) => sql`SELECT ${profileColumns()} FROM ${sql.table('users')} u
    WHERE u.id = ${p.userId} AND u.staged_at IS NULL AND (${p.audience}::text IS NULL OR u.aud = ${p.audience})`,
)

/** Finds a user with everything that their record shows; a deleted one too, but none that is staged. */
export async function findProfile(lanes: Lanes, query: ProfileQuery): Promise<Profile | undefined> {
  const row = await lanes.read.first(findProfileQuery, query)
  return row && toProfile(row)
}

/** Finds a user by id alone, of any audience, staged ones included. */
export async function findOwner(db: Kysely<AuthDatabase>, userId: string): Promise<Profile | undefined> {
  const query = sql<ProfileRow>`SELECT ${profileColumns()} FROM ${sql.table('users')} u WHERE u.id = ${userId}`
  const { rows } = await query.execute(db)
  return rows[0] && toProfile(rows[0])
}

/** The same inside a transaction, after it has changed the user. */
export async function getProfile(trx: Kysely<AuthDatabase>, userId: string): Promise<Profile> {
  const profile = await findOwner(trx, userId)
  if (!profile) throw new Error('no such user')
  return profile
}
