import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'

/** After so long, an operator wonders why nothing happens. */
const TOLD_AFTER_MS = 3_000

/** An index of a table of supabase/auth. */
export interface LateIndex {
  readonly name: string
  readonly table: string
  readonly isUnique: boolean
  /** The part of its definition after the name of the table. */
  readonly definition: RawBuilder<unknown>
}

/**
 * Makes an index without a lock, unless it is there. The index of a run that was killed is not valid, and is
 * made anew. PostgreSQL may still be making it when the client of that run is gone. It waits until every open
 * transaction has ended, so no caller holds one.
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
