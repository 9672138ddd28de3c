import {
  againWhenLocked,
  listLockOwners,
  type MigrationTarget,
  underLock,
  withDatabase,
} from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations, runOneByOne } from '@trestle/database/migrations/migrator.ts'
import { CLEAN_UP_INDEXES } from '@trestle/migrations/auth/clean-up-indexes.ts'
import { EMAIL_KEY } from '@trestle/migrations/auth/email-key.ts'
import { userDocument } from '@trestle/migrations/auth/user-document.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { findUnrecorded } from '../../schema/existing-schema.ts'
import { hideOwnTables } from '../../schema/own-objects.ts'
import { createIndexConcurrently, endAutovacuums, GENTLE_WAIT_MS, inGentle } from '../adoption-locks.ts'
import {
  type AdoptionPlaces,
  type AdoptionRecord,
  beginRecord,
  findRecord,
  placesOf,
  recordVersion,
} from '../adoption-record.ts'
import { listEarlyMigrations, listReplaced } from '../changes/added-columns.ts'
import { applyEarlyChanges, createEarlyIndexes, listMadeSince, ownChanges } from '../changes/upstream-changes.ts'
import { requireAdoptable } from '../check/find-obstacles.ts'
import { findVersion } from '../upstream-tables.ts'
import { type StagingDeps, stageRefreshTokens } from './stage-refresh-tokens.ts'
import { prepareStaging } from './staging-tables.ts'

export interface AdoptionRun {
  /** Whether to ignore an unknown version, and functions that seem to use all columns of a table. */
  readonly force: boolean
  readonly report: (line: string) => void
}

/**
 * Records the beginning of the adoption, unless an earlier run has done so. Creates the tables with names that supabase/auth does
 * not use, and the indexes on its tables.
 * @returns the newest migration of supabase/auth
 * @throws Error if the database cannot be adopted
 */
export async function beginAdoption(
  target: MigrationTarget,
  role: string | undefined,
  { force, report }: AdoptionRun,
): Promise<string> {
  const { names } = target
  const places = placesOf(names)
  const { version, switchedAt } = await underLock(target, async (db) => {
    const found = await findRecord(db, places)
    if (found !== undefined && found.switchedAt !== null) return found
    // Check again: since an earlier run, the old service may have migrated the database, or a right may have been revoked.
    const { version, doubts } = await requireAdoptable(db, { names, force, role, reach: 'anything' })
    for (const doubt of doubts) report(`look at    ${doubt}`)
    const lost = found === undefined ? await recoverRecord(db, places) : undefined
    await beginRecord(db, places, { version, changes: lost?.changes ?? [] })
    if (found !== undefined && found.version !== version) {
      const changes = ownChanges(found.changes, places, { since: found.version, version })
      await recordVersion(db, places, { version, changes })
    }
    await createEarlyTables(db, places)
    return { version, switchedAt: null }
  })
  if (switchedAt !== null) return version
  // CREATE INDEX CONCURRENTLY waits for every open transaction, so call it after `underLock` has ended.
  await withDatabase(target, async (db) => {
    await createEarlyIndexes(db, places, report)
    await createUserIndexes(db, names, report)
  })
  return version
}

/**
 * Runs `use` while no other run is at work. A connection holds the lock, not a transaction: CREATE INDEX CONCURRENTLY waits for
 * every open transaction, so it would also wait for one that holds the lock.
 * @throws Error if another run is at work
 */
export function withoutOtherRuns<T>(target: MigrationTarget, use: () => Promise<T>): Promise<T> {
  return withDatabase(target, (db) =>
    db.connection().execute(async (connection) => {
      const key = sql`hashtext(${`auth adopt ${target.names.schema}`})`
      const { rows } = await sql<{ isMine: boolean }>`SELECT pg_try_advisory_lock(${key}) AS "isMine"`.execute(
        connection,
      )
      if (rows[0]?.isMine !== true)
        throw new Error(
          [
            'another run of auth adopt is at work: wait until it has ended',
            ...(await listLockOwners(connection, key)),
          ].join('; '),
        )
      // Release the lock explicitly. PostgreSQL ends a connection some time after the client has closed it, and the lock would
      // block the next run until then. If the connection is lost, PostgreSQL has already released the lock.
      const unlock = () => sql`SELECT pg_advisory_unlock(${key})`.execute(connection).catch(() => {})
      return use().finally(unlock)
    }),
  )
}

/** Creates the early tables. Each change has its own transaction, which locks one table that the old service needs. */
async function createEarlyTables(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const { names } = places
  await applyEarlyChanges(db, places)
  const sources = await listEarlyMigrations(names)
  const { pending } = await compareMigrations(db, { names, sources })
  const beforeEach = (trx: Kysely<unknown>) => endAutovacuums(trx, places)
  await runOneByOne(db, { names, sources, beforeEach, lockWaitMs: GENTLE_WAIT_MS }, pending)
  const replaced = await listReplaced(names)
  await againWhenLocked(() => inGentle(db, (trx) => hideOwnTables(trx, names, replaced)))
}

/** Does all work that may take long, while the old service still serves. */
export async function prepareSwitch(
  db: Kysely<unknown>,
  deps: StagingDeps,
  { report }: Pick<AdoptionRun, 'report'>,
): Promise<void> {
  await fillDirectory(db, deps.places)
  report('the directory of users is filled')
  await prepareStaging(db, deps.places)
  await stageRefreshTokens(db, deps)
  report('the refresh tokens are copied')
}

/** A batch takes a few tens of milliseconds. A change of a listed user waits until the batch that lists the user has ended. */
const BATCH_ROWS = 500

/**
 * Adds the users of an adopted database to the directory in batches. The trigger of the directory lists users who are added or
 * changed meanwhile, so users who are already listed are skipped. No user is locked, so a user who is deleted meanwhile may stay
 * in the directory until `checkForeignKeys`.
 */
async function fillDirectory(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  if (await isFilled(db, names)) return
  let after: string | null = null
  do after = await againWhenLocked(() => listNext(db, names, after))
  while (after !== null)
}

/** Returns whether the directory contains all users. The query on a filled directory reads two indexes and no user row. */
async function isFilled(db: Kysely<unknown>, { id }: Names): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM ${id('users')} u
    WHERE u.staged_at IS NULL AND NOT EXISTS (SELECT FROM ${id('user_directory')} d WHERE d.user_id = u.id) LIMIT 1`.execute(
    db,
  )
  return rows.length === 0
}

/** @param after the last user of the previous batch @returns the last user of this batch, or `null` if it is empty */
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

/** Lists the emails, in lower case, that several users share. */
export async function listSharedEmails(db: Kysely<unknown>, { id }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ email: string }>`
    SELECT lower(email) AS email FROM ${id('users')} WHERE NOT is_sso_user AND email IS NOT NULL
    GROUP BY lower(email) HAVING count(*) > 1 ORDER BY 1`.execute(db)
  return rows.map(({ email }) => email)
}

/**
 * Creates this service's indexes on users without locking the table. The email index, by which users are found, is not unique if
 * users share an email. It is created last, because PostgreSQL prefers the newest of several indexes with equal cost.
 * @param report called with the transactions that an index waits for
 */
async function createUserIndexes(db: Kysely<unknown>, names: Names, report: (line: string) => void): Promise<void> {
  for (const [name, definition] of Object.entries(CLEAN_UP_INDEXES))
    await createIndexConcurrently(db, names, { name, table: 'users', isUnique: false, definition }, report)
  const isUnique = (await listSharedEmails(db, names)).length === 0
  const index = { name: 'users_email_lower_key', table: 'users', isUnique, definition: EMAIL_KEY }
  await createIndexConcurrently(db, names, index, report)
}

/** Drops the email index of this service, for an undo. */
export async function dropEmailIndex(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP INDEX IF EXISTS ${names.id('users_email_lower_key')}`.execute(trx)
}

/**
 * Restores the record of a prepared adoption from the state of its tables. Only the schema of the tables may have been restored,
 * for example by `pg_dump --schema=auth`. Then the columns, indexes and tables exist, but the copies, the triggers and the record
 * are missing.
 * @returns `undefined` if no adoption is prepared
 */
export async function recoverRecord(db: Kysely<unknown>, places: AdoptionPlaces): Promise<AdoptionRecord | undefined> {
  if ((await findUnrecorded(db, places.names)) !== 'prepared') return undefined
  const version = await findVersion(db, places.names)
  const changes = await listMadeSince(db, places, version)
  // It is unknown whether the database had pgcrypto before. With `true`, undo keeps it.
  return { version, changes, switchedAt: null, finishedAt: null, hadPgcrypto: true }
}
