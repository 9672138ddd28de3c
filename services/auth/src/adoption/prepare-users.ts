import { EMAIL_KEY } from '@trestle/migrations/auth/email-key.ts'
import { userDocument } from '@trestle/migrations/auth/user-document.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { NIL_UUID } from '../records/ids.ts'
import type { AdoptionPlaces } from './adoption-record.ts'

const BATCH_ROWS = 10_000

/**
 * Lists the users of an adopted database in the directory, some at a time. The trigger of the directory lists those who come or
 * change meanwhile, so a listed user stays as they are.
 */
export async function fillDirectory(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  let after = NIL_UUID
  for (;;) {
    // A user who is deleted waits for the batch, or the foreign key of the directory would refuse it.
    const { rows } = await sql<{ last: string | null }>`
      WITH batch AS (
        SELECT * FROM ${names.id('users')} u WHERE u.id > ${after} ORDER BY u.id LIMIT ${sql.lit(BATCH_ROWS)}
        FOR KEY SHARE),
      listed AS (
        INSERT INTO ${names.id('user_directory')} (user_id, aud, created_at, document)
        SELECT b.id, coalesce(b.aud, ''), coalesce(b.created_at, '0001-01-01 00:00:00+00'), ${userDocument(sql.ref('b'))}
          FROM batch b WHERE b.staged_at IS NULL
          ON CONFLICT (user_id) DO NOTHING)
      SELECT max(id::text) AS last FROM batch`.execute(db)
    const last = rows[0]?.last ?? null
    if (last === null) return
    after = last
  }
}

/** Emails of which several users have one, in lower case. */
export async function listSharedEmails(db: Kysely<unknown>, { id }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ email: string }>`
    SELECT lower(email) AS email FROM ${id('users')} WHERE NOT is_sso_user AND email IS NOT NULL
    GROUP BY lower(email) HAVING count(*) > 1 ORDER BY 1`.execute(db)
  return rows.map(({ email }) => email)
}

/**
 * Makes the index by which users are found, without a lock. It is not unique where several users share an email. The index of a run
 * that was killed is not valid, and is made anew. PostgreSQL may still be making it when the client of that run is gone.
 * @throws Error while PostgreSQL makes the index for a run that was killed
 */
export async function createEmailIndex(db: Kysely<unknown>, names: Names): Promise<void> {
  const index = sql.id(names.schema, EMAIL_INDEX)
  const state = await findIndexState(db, names)
  if (state === 'valid') return
  await requireNobodyIndexes(db, names)
  if (state === 'invalid') await sql`DROP INDEX IF EXISTS ${index}`.execute(db)
  const unique = (await listSharedEmails(db, names)).length === 0 ? sql`UNIQUE` : sql``
  await sql`CREATE ${unique} INDEX CONCURRENTLY ${sql.id(EMAIL_INDEX)} ON ${names.id('users')} ${EMAIL_KEY}`.execute(db)
}

const EMAIL_INDEX = 'users_email_lower_key'

async function findIndexState(db: Kysely<unknown>, { schema }: Names): Promise<'none' | 'invalid' | 'valid'> {
  const { rows } = await sql<{ valid: boolean }>`
    SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass(format('%I.%I', ${schema}::text, ${EMAIL_INDEX}::text))`.execute(
    db,
  )
  const [found] = rows
  if (found === undefined) return 'none'
  return found.valid ? 'valid' : 'invalid'
}

async function requireNobodyIndexes(db: Kysely<unknown>, { schema }: Names): Promise<void> {
  const { rows } = await sql`
    SELECT FROM pg_stat_progress_create_index
    WHERE datname = current_database() AND relid = to_regclass(format('%I.users', ${schema}::text))`.execute(db)
  if (rows.length > 0)
    throw new Error('PostgreSQL still makes the index of emails for a run that was killed: wait until it has ended')
}
