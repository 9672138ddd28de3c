import { type Kysely, sql } from 'kysely'

/**
 * The rights of a service on the tables of its queue. pg-boss runs statements from the table `bam` with the rights of the user
 * who installs it: the owner.
 */
export const queueRights = {
  /** Statements that an install runs. The role has no right on them. */
  closed: ['bam'],
  /** The role may read these tables, and change their rows except for these columns, which only an install sets. */
  installed: {
    version: ['version'],
    queue: [
      ...['name', 'policy', 'partition', 'table_name', 'dead_letter', 'notify', 'warning_queued', 'created_on'],
      ...['retry_limit', 'retry_delay', 'retry_backoff', 'retry_delay_max', 'updated_on'],
      ...['expire_seconds', 'retention_seconds', 'deletion_seconds', 'heartbeat_seconds'],
    ],
  },
} as const satisfies {
  readonly closed: readonly string[]
  readonly installed: Readonly<Record<string, readonly string[]>>
}

/** The columns that workers change, by table. */
export async function findWorkerColumns(
  db: Kysely<unknown>,
  schema: string,
): Promise<Record<string, readonly string[]>> {
  const { rows } = await sql<{ table: string; column: string }>`
    SELECT c.relname AS table, a.attname AS column FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = ${schema}::regnamespace AND c.relname = ANY (${Object.keys(queueRights.installed)})
    ORDER BY c.relname, a.attnum`.execute(db)
  const columns: Record<string, readonly string[]> = {}
  for (const [table, own] of Object.entries<readonly string[]>(queueRights.installed)) {
    const all = rows.filter((row) => row.table === table).map(({ column }) => column)
    if (all.length > 0) columns[table] = all.filter((column) => !own.includes(column))
  }
  return columns
}
