import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { SERVED, UNSERVED } from '../upstream-tables.ts'

/** The tables that a run only reads. */
const READ = ['instances', ...UNSERVED]
const VERSIONS = 'schema_migrations'
/** An operator may have revoked all other rights on this table, so that nobody changes entries. */
const AUDIT_LOG = 'audit_log_entries'
const ALL_RIGHTS = 'SELECT INSERT UPDATE DELETE REFERENCES TRIGGER'

/** The connections of a run or an undo. Six were measured, but a busy server ends closed connections late. */
const CONNECTIONS = 10

interface TableState {
  readonly table: string
  readonly owner: string
  readonly user: string
  readonly isAlien: boolean
  readonly isHidden: boolean
  readonly missing: readonly string[]
}

/**
 * Lists the rights and connections that the user lacks for an adoption and its undo. Only the owner of a table may alter and move
 * it, and the owner must see all of its rows.
 * @returns a line for each, with the statement that grants it. Empty if nothing is missing
 */
export async function listMissingRights(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const { rows: schemas } = await sql<{ user: string }>`
    SELECT current_user AS "user" FROM pg_namespace WHERE nspname = ${schema} AND NOT has_schema_privilege(oid, 'CREATE')`.execute(
    db,
  )
  const { rows: types } = await sql<{ owner: string; user: string }>`
    SELECT pg_get_userbyid(typowner) AS owner, current_user AS "user" FROM pg_type t
    WHERE oid = to_regtype(format('%I.factor_type', ${schema}::text)) AND NOT pg_has_role(typowner, 'USAGE')
      AND NOT EXISTS (SELECT FROM pg_enum WHERE enumtypid = t.oid AND enumlabel = 'phone')`.execute(db)
  return [
    ...(await listTightLimits(db)),
    ...schemas.map(
      ({ user }) =>
        `the schema ${schema} grants no CREATE: as a superuser, run GRANT CREATE ON SCHEMA "${schema}" TO "${user}"`,
    ),
    ...(await listTables(db, schema)).flatMap((state) => describeTable(schema, state)),
    ...types.map(
      ({ owner, user }) =>
        `the type ${schema}.factor_type belongs to ${owner}: as a superuser, run ALTER TYPE "${schema}"."factor_type" OWNER TO "${user}"`,
    ),
  ]
}

/** Lists the connection limits that a run would reach. PostgreSQL also counts the connections of the old service. */
async function listTightLimits(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ kind: string; name: string; limit: number }>`
    SELECT l.* FROM pg_roles r CROSS JOIN LATERAL (
      SELECT 'role' AS kind, r.rolname AS name, r.rolconnlimit AS "limit"
      UNION ALL SELECT 'database', datname, datconnlimit FROM pg_database WHERE datname = current_database()) l
    WHERE r.rolname = current_user AND NOT r.rolsuper AND l."limit" BETWEEN 0 AND ${CONNECTIONS - 1} ORDER BY kind DESC`.execute(
    db,
  )
  return rows.map(
    ({ kind, name, limit }) =>
      `the ${kind} ${name} has at most ${limit} connections, and a run needs ${CONNECTIONS} beside those of the old service: as a superuser, run ALTER ${kind.toUpperCase()} "${name}" CONNECTION LIMIT ${limit + CONNECTIONS}`,
  )
}

/** @throws Error if the user lacks a right, with a line for each and the statement that grants it */
export async function requireRights(db: QueryExecutorProvider, names: Names): Promise<void> {
  const missing = await listMissingRights(db, names)
  if (missing.length > 0) throw new Error(missing.join('\n'))
}

async function listTables(db: QueryExecutorProvider, schema: string): Promise<readonly TableState[]> {
  const tables = [...SERVED, ...UNSERVED]
  const { rows } = await sql<TableState>`
    SELECT c.relname AS "table", pg_get_userbyid(c.relowner) AS owner, current_user AS "user",
      c.relname <> ALL (${[...READ, VERSIONS]}::text[]) AND NOT pg_has_role(c.relowner, 'USAGE') AS "isAlien",
      c.relname = ANY (${[...SERVED]}::text[]) AND row_security_active(c.oid) AS "isHidden",
      ARRAY(SELECT r FROM unnest(string_to_array(w.rights, ' ')) AS r WHERE NOT has_table_privilege(c.oid, r)) AS missing
    FROM pg_class c JOIN unnest(${tables}::text[], ${tables.map(rightsOn)}::text[]) AS w (name, rights) ON w.name = c.relname
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relkind IN ('r', 'p')
    ORDER BY c.relname`.execute(db)
  return rows
}

function rightsOn(table: string): string {
  if (READ.includes(table)) return 'SELECT'
  if (table === VERSIONS) return 'SELECT TRIGGER'
  return table === AUDIT_LOG ? 'SELECT INSERT' : ALL_RIGHTS
}

function describeTable(
  schema: string,
  { table, owner, user, isAlien, isHidden, missing }: TableState,
): readonly string[] {
  const name = `"${schema}"."${table}"`
  if (isAlien)
    return [
      `the table ${schema}.${table} belongs to ${owner}: as a superuser, run ALTER TABLE ${name} OWNER TO "${user}"`,
    ]
  const rights = missing.join(', ')
  return [
    ...(missing.length === 0
      ? []
      : [
          `the table ${schema}.${table} grants no ${rights}: as its owner, run GRANT ${rights} ON ${name} TO "${user}"`,
        ]),
    ...(isHidden
      ? [
          `the table ${schema}.${table} hides rows from ${user}: as its owner, run ALTER TABLE ${name} NO FORCE ROW LEVEL SECURITY`,
        ]
      : []),
  ]
}
