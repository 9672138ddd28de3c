import { MIGRATIONS, migratorTable } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/** @throws Error, with advice, if a pooler has dropped the search path of the connection */
export async function requireFixedPath(db: QueryExecutorProvider): Promise<void> {
  const { rows } = await sql<{ search_path: string }>`SHOW search_path`.execute(db)
  const path = rows[0]?.search_path
  if (path !== 'pg_catalog')
    throw new Error(`the search path is ${path}, not pg_catalog: connect to PostgreSQL itself, not through a pooler`)
}

/** Whether a schema has a table or a view with a name. */
export async function hasRelation(db: QueryExecutorProvider, schema: string, name: string): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regclass(pg_catalog.format('%I.%I', ${schema}::text, ${name}::text)) IS NOT NULL AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

/** The names of the columns of a table. Empty if the table does not exist. */
export async function readColumns(
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
 * Lists schemas of other owners. A role that may create schemas could create one with a name that an adoption or an import uses.
 * Reading a view there would run that role's code with the rights of the reader.
 * @param owner the required owner, by default the current user
 * @returns for each schema why it is not used, with advice; empty if all belong to the owner or do not exist
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

/** @throws Error, with advice, if one of the schemas exists and belongs to another role */
export async function requireOwnSchemas(db: QueryExecutorProvider, schemas: readonly string[]): Promise<void> {
  const reasons = await listForeignSchemas(db, schemas)
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
}

/**
 * Creates a schema, unless it exists, and revokes the rights on it that default privileges of the database have granted to
 * others. Its tables have no row level security. Without a right on the schema, no role can read or write them.
 */
export async function createOwnSchema(db: QueryExecutorProvider, schema: string): Promise<void> {
  const { rows: before } = await sql`SELECT FROM pg_namespace WHERE nspname = ${schema}`.execute(db)
  if (before.length > 0) return
  // Another role may create the schema at the same time. It then keeps its rights.
  await sql`CREATE SCHEMA IF NOT EXISTS ${sql.id(schema)}`.execute(db)
  const { rows } = await sql<{ role: string | null }>`
    SELECT DISTINCT r.rolname AS role FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE n.nspname = ${schema} AND a.grantee <> n.nspowner AND pg_get_userbyid(n.nspowner) = current_user`.execute(db)
  for (const { role } of rows)
    await sql`REVOKE ALL ON SCHEMA ${sql.id(schema)} FROM ${role === null ? sql`PUBLIC` : sql.id(role)}`.execute(db)
}

/**
 * Requires that the schema of the job queue does not exist or belongs to the owner of this service's tables. That owner may
 * differ from the current user, because the service works with the rights of a role.
 * @throws Error, with advice, if it belongs to another role
 */
export async function requireOwnJobSchema(db: QueryExecutorProvider, names: Names): Promise<void> {
  const { rows } = await sql<{ owner: string }>`
    SELECT pg_get_userbyid(c.relowner) AS owner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${names.schema} AND c.relname = ${migratorTable(names, MIGRATIONS)}`.execute(db)
  const reasons = await listForeignSchemas(db, [names.jobSchema], rows[0]?.owner)
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
}

/**
 * Lists rights and objects of other roles in the schema of the tables, in which the service looks up names (`openAuthDatabase`).
 * A role that may create functions there could create a function that PostgreSQL prefers to its own. A role that owns the schema
 * or may create triggers on `users` can also run code with the rights of the service.
 * @returns a line for each right or object, with advice
 */
export async function listStrangers(db: QueryExecutorProvider, { schema, prefix }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ role: string | null; object: string | null; owner: string }>`
    SELECT DISTINCT r.rolname AS role, w.object, pg_get_userbyid(u.relowner) AS owner
    FROM pg_namespace n JOIN pg_class u ON u.relnamespace = n.oid AND u.relname = ${`${prefix}users`}
    CROSS JOIN LATERAL (
      SELECT grantee AS role, NULL AS object FROM aclexplode(n.nspacl) WHERE privilege_type = 'CREATE'
      UNION ALL SELECT proowner, format('FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = n.oid
      UNION ALL SELECT oprowner, format('OPERATOR %s', oid::regoperator) FROM pg_operator WHERE oprnamespace = n.oid) w
    LEFT JOIN pg_roles r ON r.oid = w.role
    WHERE n.nspname = ${schema} AND (r.oid IS NULL OR NOT (has_table_privilege(r.oid, u.oid, 'TRIGGER')
      OR pg_has_role(r.oid, u.relowner, 'MEMBER') OR pg_has_role(r.oid, n.nspowner, 'MEMBER')))
    ORDER BY role, object`.execute(db)
  return rows.map(({ role, object, owner }) =>
    object === null
      ? `${role ?? 'everybody'} may create functions in the schema ${schema}, which would run as ${owner}: as a superuser, run REVOKE CREATE ON SCHEMA "${schema}" FROM ${role === null ? 'PUBLIC' : `"${role}"`}`
      : `a ${object.split(' ', 1)[0]?.toLowerCase()} in the schema ${schema} belongs to ${role}, and could run as ${owner}: as a superuser, run DROP ${object}`,
  )
}

/** @throws Error, with advice, if another role could create functions in the schema of the tables */
export async function requireNoStrangers(db: QueryExecutorProvider, names: Names): Promise<void> {
  const reasons = await listStrangers(db, names)
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
}

/**
 * Runs statements that fire triggers of applications on this service's tables, with the search path of the service. So the
 * triggers find the same objects as later. If other roles could create functions in that schema, the path stays unchanged,
 * because undo may be the way out of that. Triggers that wait for the commit run at the end, because a table with waiting
 * triggers cannot be altered.
 */
export async function underPathOfTriggers<T>(
  trx: QueryExecutorProvider,
  names: Names,
  use: () => Promise<T>,
): Promise<T> {
  if ((await listStrangers(trx, names)).length === 0)
    await sql`SET LOCAL search_path = ${sql.id(names.schema)}`.execute(trx)
  const result = await use()
  await sql`SET CONSTRAINTS ALL IMMEDIATE`.execute(trx)
  await sql`SET LOCAL search_path = pg_catalog`.execute(trx)
  return result
}

/** Trigger functions that look up names in the search path of the statement, and the search path of the old service. */
export interface OpenTriggers {
  readonly path: string
  readonly functions: readonly string[]
}

/**
 * Lists trigger functions on the tables of a schema that set no search path. The service gives them its own path
 * (`openAuthDatabase`). Supabase sets a path for the owner of the tables.
 * @returns no functions if the owner's path contains no other schema
 */
export async function listOpenTriggers(db: QueryExecutorProvider, { schema }: Names): Promise<OpenTriggers> {
  const { rows: paths } = await sql<{ path: string }>`
    SELECT coalesce(
      (SELECT substr(setting, ${'search_path='.length + 1}::int) FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS setting
        WHERE setting LIKE 'search_path=%' AND s.setrole IN (0, u.relowner)
          AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
        ORDER BY s.setrole <> 0 AND s.setdatabase <> 0 DESC, s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1),
      (SELECT boot_val FROM pg_settings WHERE name = 'search_path')) AS path
    FROM pg_class u JOIN pg_namespace n ON n.oid = u.relnamespace WHERE n.nspname = ${schema} AND u.relname = 'users'`.execute(
    db,
  )
  const [{ path } = { path: '' }] = paths
  const others = path.split(',').map((each) => each.trim().replace(/^"(.*)"$/, '$1'))
  if (others.every((each) => ['', '$user', 'pg_catalog', schema].includes(each))) return { path, functions: [] }
  const { rows } = await sql<{ name: string }>`
    SELECT DISTINCT format('%s', p.oid::regprocedure) AS name
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
    WHERE n.nspname = ${schema} AND NOT t.tgisinternal AND l.lanname NOT IN ('c', 'internal')
      AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
    ORDER BY name`.execute(db)
  return { path, functions: rows.map(({ name }) => name) }
}

/** The text that may be around the dot of a name: white space and comments. */
const GAP = String.raw`(\s|--[^\n]*\n|/[*]([^*]|[*]+[^*/])*[*]+/)*`

/**
 * Finds functions `f` whose body, which PostgreSQL parses at each call, names a table of `moving`. The name is qualified with the
 * schema, with or without quotes. It may be unqualified if the function sets a search path that contains the schema.
 */
export function namedIn(schema: string): RawBuilder<unknown> {
  const word = sql`regexp_replace(${schema}::text, '(\\W)', '\\\\\\1', 'g')`
  return sql`f.pronamespace <> 'pg_catalog'::regnamespace
    AND (f.prosrc ~* format('\\m%s"?%s[.]%s"?%s\\M', ${word}, ${GAP}::text, ${GAP}::text, m.name)
      OR (f.prosrc ~* format('\\m%s\\M', m.name)
        AND EXISTS (SELECT FROM unnest(f.proconfig) setting WHERE setting ~* format('^search_path=(.*\\W)?%s(\\W|$)', ${word}))))`
}

/**
 * Drops tables and functions, then their schema. Does nothing if the schema does not exist. Nothing is dropped with CASCADE,
 * which would also drop objects of applications and dependent objects, such as a policy that hides rows.
 * @throws DatabaseError (2BP01) if another object is in the schema or depends on it
 */
export async function dropSchema(
  trx: QueryExecutorProvider,
  schema: string,
  { tables, functions }: { readonly tables: readonly string[]; readonly functions: readonly string[] },
): Promise<void> {
  await sql`DROP TABLE IF EXISTS ${sql.join(tables.map((name) => sql.id(schema, name)))}`.execute(trx)
  for (const signature of functions)
    await sql`DROP FUNCTION IF EXISTS ${sql.id(schema)}.${sql.raw(signature)}`.execute(trx)
  await sql`DROP SCHEMA IF EXISTS ${sql.id(schema)}`.execute(trx)
}
