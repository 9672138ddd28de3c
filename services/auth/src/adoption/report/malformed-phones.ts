import { type QueryExecutorProvider, sql } from 'kysely'
import type { AdoptionPlaces } from '../adoption-record.ts'
import type { Loss } from '../upstream-tables.ts'

const NAMED_MAX = 5
/**
 * Matches a phone that no request asks for: supabase/auth removes a leading `+` and all blanks, and finds a
 * phone by the rest.
 */
const NEVER_ASKED = '^[+]| '
const E164 = '^[1-9][0-9]{1,14}$'

/**
 * Lists users whose phone is no number of E.164, which SQL or an early version has stored, and names the
 * first. Of a user who is deleted, supabase/auth has a hash in place of the phone.
 * @param areFound whether a sign-in by password looks for such phones here, as it does at supabase/auth
 */
export async function listMalformedPhones(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
  { areFound }: { readonly areFound: boolean },
): Promise<readonly Loss[]> {
  const { rows } = await sql<{ isLost: boolean; count: number; ids: readonly string[] }>`
    WITH odd AS (
      SELECT id::text AS id, phone !~ ${NEVER_ASKED}::text AS is_lost FROM ${names.id('users')}
      WHERE phone <> '' AND phone !~ ${E164}::text AND deleted_at IS NULL
        AND (phone ~ ${NEVER_ASKED}::text OR (encrypted_password <> '' AND NOT ${areFound}::boolean)))
    SELECT is_lost AS "isLost", count(*)::int AS count, (array_agg(id ORDER BY id))[1:${sql.lit(NAMED_MAX)}] AS ids
    FROM odd GROUP BY is_lost ORDER BY is_lost`.execute(db)
  return rows.map(({ isLost, count, ids }) => ({
    what: `${isLost ? LOST : UNFOUND}: users ${ids.join(', ')}`,
    count,
  }))
}

const UNFOUND = 'users whose phone has a + or a blank, by which nobody signs in at supabase/auth either'
const LOST = 'users whose phone is no number of E.164, who sign in by it and a password in the profile supabase alone'
