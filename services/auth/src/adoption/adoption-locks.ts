import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type AdoptionPlaces, schemasOf } from './adoption-record.ts'

/**
 * How long a statement waits for a lock while the old service serves, in milliseconds. Requests of the old service wait behind a
 * statement that waits. The time is less than the second after which PostgreSQL looks for deadlocks, so that none of them fails.
 */
export const GENTLE_WAIT_MS = 200
const GENTLE_ATTEMPTS = 5
/** Longer than the second after which PostgreSQL looks for deadlocks, in waits that are shorter. */
const PATIENT_REQUESTS = 5
/** How long an autovacuum may take to end after PostgreSQL has asked it to, in milliseconds. */
const VACUUM_END_MS = 2_000

/**
 * A transaction while the old service serves, which waits for no lock for long. To disturb no request, it locks one table of
 * supabase/auth, and none of its rows.
 * @param locked the table that it locks, whose autovacuum is ended; undefined where it locks none
 * @throws DatabaseError (55P03) when a lock is not granted
 */
export function inGentle<T>(
  db: Kysely<unknown>,
  use: (trx: Kysely<unknown>) => Promise<T>,
  locked?: { readonly places: AdoptionPlaces; readonly table: string },
): Promise<T> {
  return inLatest(db).execute(async (trx) => {
    if (locked !== undefined) await endAutovacuums(trx, locked.places, locked.table)
    await sql`SET LOCAL lock_timeout = ${sql.lit(GENTLE_WAIT_MS)}`.execute(trx)
    return use(trx)
  })
}

/** The tables that a transaction locks, and the schemas in which it changes others. */
interface LockedTables {
  readonly places: AdoptionPlaces
  readonly tables: readonly RawBuilder<unknown>[]
}

/**
 * Locks tables against everything, one after the other. Requests of the old service lock its tables in various orders, so no lock
 * order here avoids deadlocks with all of them. The first attempts of a transaction give up before PostgreSQL looks for
 * deadlocks, so that no request fails. If the old service always has such a request, later attempts keep their locks, and ask
 * again for the next lock: PostgreSQL ends the requests that wait for us and that we wait for, and never us.
 * @param attempt of the transaction, from 1
 * @throws DatabaseError (55P03) when a lock is not granted; Error that names an autovacuum that PostgreSQL does not end
 */
export async function lockTables(
  trx: Kysely<unknown>,
  { places, tables }: LockedTables,
  attempt: number,
): Promise<void> {
  await endAutovacuums(trx, places)
  await sql`SET LOCAL lock_timeout = '500ms'`.execute(trx)
  const requests = attempt <= GENTLE_ATTEMPTS ? 1 : PATIENT_REQUESTS
  for (const name of tables) {
    const lock = sql`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`
    for (let request = 1; !(await isGranted(trx, lock, { isLast: request === requests })); request += 1);
  }
}

/**
 * Ends autovacuums of the tables in the schemas of an adoption, and keeps others away until the transaction ends. PostgreSQL ends
 * an autovacuum only when another transaction has waited for `deadlock_timeout`. Requests may not wait that long. So this waits
 * for a lock that no request of the old service waits behind.
 * @param only the table whose autovacuum is ended; by default those of all are
 * @throws Error that names an autovacuum that PostgreSQL does not end
 */
export async function endAutovacuums(trx: Kysely<unknown>, places: AdoptionPlaces, only?: string): Promise<void> {
  const vacuums = (await listAutovacuums(trx, places)).filter(({ table }) => only === undefined || table === only)
  if (vacuums.length === 0) return
  await sql`
    SELECT set_config('lock_timeout', (setting::int + ${sql.lit(VACUUM_END_MS)})::text, true) FROM pg_settings
    WHERE name = 'deadlock_timeout'`.execute(trx)
  for (const { schema, table, pid } of vacuums) {
    const lock = sql`LOCK TABLE ONLY ${sql.id(schema, table)} IN SHARE UPDATE EXCLUSIVE MODE`
    if (await isGranted(trx, lock, { isLast: false })) continue
    const present = await listAutovacuums(trx, places)
    if (present.some((each) => each.pid === pid && each.table === table))
      throw new Error(
        `the autovacuum of ${schema}.${table} by process ${pid} of PostgreSQL holds this table. PostgreSQL ends none that prevents a wraparound of transaction numbers: wait until pg_stat_progress_vacuum does not list it, and run this again`,
      )
  }
}

/** An autovacuum, or an analysis by the same worker, that is at work on a table. */
interface Autovacuum {
  readonly schema: string
  readonly table: string
  readonly pid: number
}

/** Only the workers of autovacuum work on a database without a user. Only a superuser sees more of them. */
async function listAutovacuums(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly Autovacuum[]> {
  const schemas = [places.names.schema, ...schemasOf(places)]
  const { rows } = await sql<Autovacuum>`
    SELECT DISTINCT n.nspname AS schema, c.relname AS "table", l.pid
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.usesysid IS NULL
      JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND n.nspname = ANY (${schemas}::text[]) AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE')
    ORDER BY 1, 2`.execute(trx)
  return rows
}

/** Asks for a lock. A request that is not granted keeps the locks it has, unless it is the last one, which throws. */
async function isGranted(
  trx: Kysely<unknown>,
  lock: RawBuilder<unknown>,
  { isLast }: { readonly isLast: boolean },
): Promise<boolean> {
  await sql`SAVEPOINT asking`.execute(trx)
  try {
    await lock.execute(trx)
  } catch (error) {
    if (isLast || !isLockTimeout(error)) throw error
    await sql`ROLLBACK TO SAVEPOINT asking`.execute(trx)
    return false
  }
  await sql`RELEASE SAVEPOINT asking`.execute(trx)
  return true
}

/**
 * The processes of PostgreSQL of connections that have a name of this service. Anybody may give a connection this name, so only
 * those count that may act as the owner.
 */
export async function listOwnConnections(db: Kysely<unknown>, application: string): Promise<readonly number[]> {
  const { rows } = await sql<{ pid: number }>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ${application}
      AND pg_has_role(usesysid, current_user, 'MEMBER')`.execute(db)
  return rows.map(({ pid }) => pid)
}

/** After so long, an operator wonders why nothing happens. */
const TOLD_AFTER_MS = 3_000

export interface LateIndex {
  readonly name: string
  readonly table: string
  readonly isUnique: boolean
  /** The part of its definition after the name of the table. */
  readonly definition: RawBuilder<unknown>
}

/**
 * Makes an index without a lock, unless it is there. If a run was killed, its index is not valid: it is made again. PostgreSQL
 * may still be making it when the client of that run is gone. It waits until every open transaction has ended, so no caller holds
 * one.
 * @param report called after some seconds with a line that names the transactions that the index waits for
 * @throws Error while PostgreSQL makes an index of the table for a run that was killed
 */
export async function createIndexConcurrently(
  db: Kysely<unknown>,
  names: Names,
  { name, table, isUnique, definition }: LateIndex,
  report: (line: string) => void,
): Promise<void> {
  const state = await findIndexState(db, names, name)
  if (state === 'valid') return
  await requireNobodyIndexes(db, names, table)
  if (state === 'invalid') await sql`DROP INDEX CONCURRENTLY IF EXISTS ${names.id(name)}`.execute(db)
  const reportAwaited = async () => {
    const awaited = await listAwaited(db, names, table)
    if (awaited.length > 0) report(`waiting for the end of ${awaited.join(', ')}: an index of ${table} needs it`)
  }
  // The report only explains a wait. The index is made without the report, and its own error is thrown.
  const timer = setTimeout(() => void reportAwaited().catch(() => {}), TOLD_AFTER_MS)
  await sql`
    CREATE ${isUnique ? sql`UNIQUE` : sql``} INDEX CONCURRENTLY ${sql.id(name)} ON ${names.id(table)} ${definition}`
    .execute(db)
    .finally(() => clearTimeout(timer))
}

/** The transactions for which PostgreSQL waits while it makes an index of a table. A prepared one has no process. */
async function listAwaited(db: Kysely<unknown>, { schema }: Names, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    WITH awaited AS (
      SELECT DISTINCT unnest(pg_blocking_pids(pid)) AS pid FROM pg_stat_progress_create_index
      WHERE datname = current_database() AND relid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)))
    SELECT format('the transaction of process %s of PostgreSQL, of the user %s', a.pid, s.usename) AS name
      FROM awaited a JOIN pg_stat_activity s ON s.pid = a.pid
    UNION ALL SELECT format('the prepared transaction %L of the user %s', p.gid, p.owner) FROM pg_prepared_xacts p
      WHERE p.database = current_database() AND EXISTS (SELECT FROM awaited WHERE pid = 0)
    ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}

/** Whether there is an index of this name, and whether queries can use it. */
export async function findIndexState(
  db: Kysely<unknown>,
  { schema }: Pick<Names, 'schema'>,
  name: string,
): Promise<'none' | 'invalid' | 'valid'> {
  const { rows } = await sql<{ valid: boolean }>`
    SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass(format('%I.%I', ${schema}::text, ${name}::text))`.execute(
    db,
  )
  const [found] = rows
  if (found === undefined) return 'none'
  return found.valid ? 'valid' : 'invalid'
}

async function requireNobodyIndexes(db: Kysely<unknown>, { schema }: Names, table: string): Promise<void> {
  const { rows } = await sql`
    SELECT FROM pg_stat_progress_create_index
    WHERE datname = current_database() AND relid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text))`.execute(
    db,
  )
  if (rows.length > 0)
    throw new Error(
      `PostgreSQL still makes an index of ${schema}.${table} for a run that was killed: wait until it has ended`,
    )
}
