import { type Kysely, sql } from 'kysely'
import { NIL_UUID } from '../../records/ids.ts'
import { listFirst, NAMED_MAX } from '../../schema/existing-schema.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'

/** Users who cannot sign in at supabase/auth, and can here. */
export interface OtherInstances {
  readonly count: number
  /** The ids of the first ones. */
  readonly ids: readonly string[]
}

/**
 * The users without an `instance_id`, or with another one than supabase/auth gives to all users: SQL has
 * added them. Each look-up of supabase/auth asks for its own (`internal/models/user.go`, from 2.40 to 2.196),
 * so these users are in none of its lists either.
 */
export async function listOtherInstances(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<OtherInstances> {
  const { rows } = await sql<OtherInstances>`
    SELECT count(*)::int AS count, coalesce((array_agg(id::text ORDER BY id))[:${sql.lit(NAMED_MAX)}], '{}') AS ids
    FROM ${names.id('users')} u WHERE instance_id IS DISTINCT FROM ${NIL_UUID}::uuid AND deleted_at IS NULL
      -- Here too, nobody finds a user without an audience by an address.
      AND (aud IS NOT NULL OR EXISTS (SELECT FROM ${names.id('identities')} i WHERE i.user_id = u.id)
        OR EXISTS (SELECT FROM ${names.id('sessions')} s WHERE s.user_id = u.id))`.execute(db)
  return rows[0] ?? { count: 0, ids: [] }
}

/** Describes users of other instances in a line of a command, with the ids of the first five. No line where there are none. */
export function describeOtherInstances({ count, ids }: OtherInstances): readonly string[] {
  if (count === 0) return []
  return [
    `gained     ${count} users have another instance_id than that of supabase/auth, which finds none of them: they sign in here: ${listFirst(ids, count)}`,
  ]
}
