import { type Kysely, sql } from 'kysely'
import { listFirst, NAMED_MAX } from '../../schema/existing-schema.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'

/** Users whose role makes them admins (reference: Admins). */
export interface AdminGroup {
  readonly role: string
  readonly count: number
  /** The ids of the first ones. */
  readonly ids: readonly string[]
}

/**
 * The users of a database of supabase/auth whose tokens are those of admins, by role. SQL may have given them the role.
 * @param roles JWT_ADMIN_ROLES
 */
export async function listAdmins(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  roles: readonly string[],
): Promise<readonly AdminGroup[]> {
  const { rows } = await sql<AdminGroup>`
    SELECT role::text AS role, count(*)::int AS count, (array_agg(id::text ORDER BY id))[:${sql.lit(NAMED_MAX)}] AS ids
    FROM ${names.id('users')} WHERE role::text = ANY (${[...roles]}::text[]) GROUP BY role ORDER BY role`.execute(db)
  return rows
}

/** Writes a group of admins as one line of a command: the number, the role, and the ids of the first five. */
export function describeAdmins({ role, count, ids }: AdminGroup): string {
  return `admin      ${count} users have the role ${role}, which makes them admins: ${listFirst(ids, count)}`
}
