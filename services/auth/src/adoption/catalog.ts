import { type QueryExecutorProvider, sql } from 'kysely'

/** Whether a schema has a table or a view of a name. */
export async function hasRelation(db: QueryExecutorProvider, schema: string, name: string): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regclass(format('%I.%I', ${schema}::text, ${name}::text)) IS NOT NULL AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

/** The names of the columns of a table; none where there is no such table. */
export async function columnsOf(
  db: QueryExecutorProvider,
  schema: string,
  table: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    SELECT attname AS name FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND attnum > 0 AND NOT attisdropped`.execute(
    db,
  )
  return new Set(rows.map(({ name }) => name))
}
