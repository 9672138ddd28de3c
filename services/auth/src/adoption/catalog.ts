import { MIGRATIONS, migratorTable } from '@trestle/database/migrations/migrator-tables.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'

/** @throws Error where a pooler has not carried the search path of a connection, with what to do about it */
export async function requireFixedPath(db: QueryExecutorProvider): Promise<void> {
  const { rows } = await sql<{ search_path: string }>`SHOW search_path`.execute(db)
  const path = rows[0]?.search_path
  if (path !== 'pg_catalog')
    throw new Error(`the search path is ${path}, not pg_catalog: connect to PostgreSQL itself, not through a pooler`)
}

/** Whether a schema has a table or a view of a name. */
export async function hasRelation(db: QueryExecutorProvider, schema: string, name: string): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regclass(pg_catalog.format('%I.%I', ${schema}::text, ${name}::text)) IS NOT NULL AS "exists"`.execute(db)
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
    WHERE attrelid = to_regclass(pg_catalog.format('%I.%I', ${schema}::text, ${table}::text)) AND attnum > 0 AND NOT attisdropped`.execute(
    db,
  )
  return new Set(rows.map(({ name }) => name))
}

/**
 * Whoever may create schemas can make one of a name that an adoption or an import uses. To read a view there would run what its owner
 * wrote, with the rights of whoever reads it.
 * @param owner whose they must be; by default the user
 * @returns why some of these schemas are not used, each in a line with what to do; empty where they are the owner's, or not there
 */
export async function listForeignSchemas(
  db: QueryExecutorProvider,
  schemas: readonly string[],
  owner?: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string; owner: string; user: string; view: string | null }>`
    SELECT n.nspname AS name, pg_get_userbyid(n.nspowner) AS owner, u.rolname AS "user", c.relname AS view
    FROM pg_namespace n JOIN pg_roles u ON u.rolname = coalesce(${owner ?? null}::name, current_user) LEFT JOIN pg_class c ON c.relnamespace = n.oid
      AND (c.relkind IN ('v', 'm', 'f') OR NOT pg_has_role(u.oid, c.relowner, 'USAGE'))
    WHERE n.nspname = ANY (${[...schemas]}::name[]) AND (n.nspowner <> u.oid OR c.oid IS NOT NULL)
    ORDER BY n.nspname, c.relname`.execute(db)
  const reasons = rows.map(({ name, owner, user, view }) =>
    owner === user
      ? `${name}.${view} is no table of ${user}, so nothing in this schema is read: drop it as a superuser`
      : `the schema ${name} belongs to ${owner}, not to ${user}, so nothing in it is read: rename or drop it as a superuser`,
  )
  return [...new Set(reasons)]
}

/** @throws Error where one of the schemas is there and is not the user's own, with what to do about it */
export async function requireOwnSchemas(db: QueryExecutorProvider, schemas: readonly string[]): Promise<void> {
  const reasons = await listForeignSchemas(db, schemas)
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
}

/**
 * The schema of the job queue must belong to whoever owns the tables of this service, or not be there. The user may be another one
 * than the owner: the service works with the rights of a role.
 * @throws Error where it is somebody else's, with what to do about it
 */
export async function requireOwnJobSchema(db: QueryExecutorProvider, names: Names): Promise<void> {
  const { rows } = await sql<{ owner: string }>`
    SELECT pg_get_userbyid(c.relowner) AS owner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${names.schema} AND c.relname = ${migratorTable(names, MIGRATIONS)}`.execute(db)
  const reasons = await listForeignSchemas(db, [names.jobSchema], rows[0]?.owner)
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
}
