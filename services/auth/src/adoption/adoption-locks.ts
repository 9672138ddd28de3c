import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type AdoptionPlaces, schemasOf } from './adoption-record.ts'

/**
 * How long a statement waits for a lock while the old service serves, in milliseconds. Requests of the old service wait behind
 * this statement. The time is below `deadlock_timeout` (1 s), so that PostgreSQL cancels none of them.
 */
export const GENTLE_WAIT_MS = 200
const GENTLE_ATTEMPTS = 5
/** The total of these waits exceeds `deadlock_timeout` (1 s), but each single wait is shorter. */
const PATIENT_REQUESTS = 5
/** How long an autovacuum may take to end after PostgreSQL has cancelled it, in milliseconds. */
const VACUUM_END_MS = 2_000

/**
 * Runs a transaction while the old service still serves. To avoid disturbing requests, the transaction waits only briefly for
 * locks. It locks one table of supabase/auth and none of its rows.
 * @param locked the table that the transaction locks. Its autovacuum is ended. `undefined` if the transaction locks no table
 * @throws DatabaseError (55P03) if a lock is not granted
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

/** The tables that a transaction locks, and the schemas of the adoption. */
interface LockedTables {
  readonly places: AdoptionPlaces
  readonly tables: readonly RawBuilder<unknown>[]
}

/**
 * Locks tables in ACCESS EXCLUSIVE mode, one after the other. Requests of the old service lock its tables in various orders, so
 * no order avoids all deadlocks. The first attempts give up before `deadlock_timeout`, so that no request fails. Later attempts
 * keep their locks and request the next lock several times. Each wait is shorter than `deadlock_timeout`, so PostgreSQL cancels
 * the request of the old service and never this transaction.
 * @param attempt the number of this attempt, from 1
 * @throws DatabaseError (55P03) if a lock is not granted; Error that names an autovacuum that PostgreSQL does not end
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
 * Ends autovacuums of the tables in the schemas of an adoption, and prevents new ones until the transaction ends. PostgreSQL
 * cancels an autovacuum only after another transaction has waited for `deadlock_timeout`. Requests must not wait that long, so
 * this function waits for a lock that blocks no request of the old service.
 * @param only the table whose autovacuum is ended. By default all autovacuums are ended
 * @throws Error if PostgreSQL does not end an autovacuum. The error names it
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

/** A running autovacuum of a table, or an analysis by an autovacuum worker. */
interface Autovacuum {
  readonly schema: string
  readonly table: string
  readonly pid: number
}

/** Of the processes that work on a database, only autovacuum workers have no user. */
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

/** Requests a lock. If it is not granted, earlier locks stay, but the last request throws. */
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
 * Lists the PostgreSQL process ids of the connections of this service, by application name. Anyone may use this name, so only
 * connections of roles that may act as the owner count.
 */
export async function listOwnConnections(db: Kysely<unknown>, application: string): Promise<readonly number[]> {
  const { rows } = await sql<{ pid: number }>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ${application}
      AND pg_has_role(usesysid, current_user, 'MEMBER')`.execute(db)
  return rows.map(({ pid }) => pid)
}

/** After this time, tell the operator why the command waits. */
const TOLD_AFTER_MS = 3_000

export interface LateIndex {
  readonly name: string
  readonly table: string
  readonly isUnique: boolean
  /** The part of the definition that follows the table name. */
  readonly definition: RawBuilder<unknown>
}

/**
 * Creates an index with CREATE INDEX CONCURRENTLY, unless it exists. A run that was killed leaves an invalid index, which is
 * created again. PostgreSQL may still build the index after the client of that run is gone. The build waits until every open
 * transaction has ended, so the caller must not hold one.
 * @param report called after a few seconds with a line that names the transactions that the index waits for
 * @throws Error if PostgreSQL still builds an index of the table for a killed run
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
  // The report only explains a wait, so ignore its errors. CREATE INDEX throws its own error.
  const timer = setTimeout(() => void reportAwaited().catch(() => {}), TOLD_AFTER_MS)
  await sql`
    CREATE ${isUnique ? sql`UNIQUE` : sql``} INDEX CONCURRENTLY ${sql.id(name)} ON ${names.id(table)} ${definition}`
    .execute(db)
    .finally(() => clearTimeout(timer))
}

/** Lists the transactions that the build of an index of a table waits for. A prepared transaction has no process. */
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

/** Returns whether an index with this name exists, and whether queries can use it. */
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
