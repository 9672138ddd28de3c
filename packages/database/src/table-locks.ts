import { type Kysely, sql } from 'kysely'

/** A lock on a table or index. */
export interface TableLock {
  /** Without schema. */
  readonly relation: string
  /** As pg_locks names it: `AccessExclusiveLock`. */
  readonly mode: string
}

/** What a lock holds up until its transaction ends. */
export type HeldUp = 'nothing' | 'writes' | 'reads and writes'

/**
 * The modes that keep out RowExclusiveLock, which every write takes, and the one that keeps out reads too.
 * @see PostgreSQL, "Explicit Locking", table "Conflicting Lock Modes"
 */
const HELD_UP: ReadonlyMap<string, HeldUp> = new Map([
  ['ShareLock', 'writes'],
  ['ShareRowExclusiveLock', 'writes'],
  ['ExclusiveLock', 'writes'],
  ['AccessExclusiveLock', 'reads and writes'],
])

export function heldUpBy({ mode }: Pick<TableLock, 'mode'>): HeldUp {
  return HELD_UP.get(mode) ?? 'nothing'
}

/** The locks that this transaction holds on tables and indexes of a schema. */
export async function listOwnLocks(trx: Kysely<unknown>, schema: string): Promise<readonly TableLock[]> {
  const { rows } = await sql<TableLock>`
    SELECT c.relname AS relation, l.mode
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND n.nspname = ${schema} AND c.relkind IN ('r', 'p', 'i', 'I')
    ORDER BY 1, 2`.execute(trx)
  return rows
}

/** The tables and indexes of a schema, with their size for people. */
export async function listSizes(db: Kysely<unknown>, schema: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; size: string }>`
    SELECT c.relname AS name, coalesce(pg_size_pretty(pg_total_relation_size(c.oid)), '') AS size
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relkind IN ('r', 'p', 'i', 'I')`.execute(db)
  return new Map(rows.map(({ name, size }) => [name, size]))
}
