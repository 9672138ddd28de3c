import { againWhenLocked } from '@trestle/database/migrations/again-when-locked.ts'
import { CLEAN_UP_INDEXES } from '@trestle/migrations/auth/clean-up-indexes.ts'
import { EMAIL_KEY } from '@trestle/migrations/auth/email-key.ts'
import { userDocument } from '@trestle/migrations/auth/user-document.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { inGentle } from '../adoption-locks.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { createIndexConcurrently } from '../changes/concurrent-index.ts'

/** A change of a listed user waits for the batch that lists them, so a batch takes some ten milliseconds. */
const BATCH_ROWS = 500

/**
 * Lists the users of an adopted database in the directory, some at a time. The trigger of the directory lists
 * users who come or change meanwhile, so a listed user stays as they are. No user is locked: one who is
 * deleted meanwhile may stay in the directory until `checkForeignKeys`.
 */
export async function fillDirectory(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  if (await isFilled(db, names)) return
  let after: string | null = null
  do after = await againWhenLocked(() => listNext(db, names, after))
  while (after !== null)
}

/** A run after one that has filled the directory reads two indexes, and no user. */
async function isFilled(db: Kysely<unknown>, { id }: Names): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM ${id('users')} u
    WHERE u.staged_at IS NULL AND NOT EXISTS (SELECT FROM ${id('user_directory')} d WHERE d.user_id = u.id) LIMIT 1`.execute(
    db,
  )
  return rows.length === 0
}

/**
 * @param after the last user of the batch before; null at the beginning
 * @returns the last one of this batch; null where there was none
 */
function listNext(db: Kysely<unknown>, { id }: Names, after: string | null): Promise<string | null> {
  return inGentle(db, async (trx) => {
    const { rows } = await sql<{ last: string | null }>`
      WITH batch AS (
        SELECT * FROM ${id('users')} u ${after === null ? sql`` : sql`WHERE u.id > ${after}`}
        ORDER BY u.id LIMIT ${sql.lit(BATCH_ROWS)}),
      listed AS (
        INSERT INTO ${id('user_directory')} (user_id, aud, created_at, document)
        SELECT b.id, coalesce(b.aud, ''), coalesce(b.created_at, '0001-01-01 00:00:00+00'), ${userDocument(sql.ref('b'))}
          FROM batch b WHERE b.staged_at IS NULL
          ON CONFLICT (user_id) DO NOTHING)
      SELECT max(id::text) AS last FROM batch`.execute(trx)
    return rows[0]?.last ?? null
  })
}

/** Lists the emails that several users share, in lower case. */
export async function listSharedEmails(db: Kysely<unknown>, { id }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ email: string }>`
    SELECT lower(email) AS email FROM ${id('users')} WHERE NOT is_sso_user AND email IS NOT NULL
    GROUP BY lower(email) HAVING count(*) > 1 ORDER BY 1`.execute(db)
  return rows.map(({ email }) => email)
}

/**
 * Makes this service's indexes of users, without a lock. The index of emails, by which users are found, is
 * not unique where several users share an email. It is made last: of indexes that cost the same, PostgreSQL
 * takes the youngest.
 * @param report is told whom an index waits for
 */
export async function createUserIndexes(
  db: Kysely<unknown>,
  names: Names,
  report: (line: string) => void,
): Promise<void> {
  for (const [name, definition] of Object.entries(CLEAN_UP_INDEXES))
    await createIndexConcurrently(db, names, { name, table: 'users', isUnique: false, definition }, report)
  const isUnique = (await listSharedEmails(db, names)).length === 0
  const index = { name: 'users_email_lower_key', table: 'users', isUnique, definition: EMAIL_KEY }
  await createIndexConcurrently(db, names, index, report)
}

/** Drops the index of emails by which users are found here, as an undo does. */
export async function dropEmailIndex(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP INDEX IF EXISTS ${names.id('users_email_lower_key')}`.execute(trx)
}
