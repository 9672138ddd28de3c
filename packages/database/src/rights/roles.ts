import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isOwn, migratorTables } from '../names.ts'
import { grantFunctions } from './function-rights.ts'

/** A role name that never needs quoting. */
export const ROLE_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/

/** The rights of a service's role, and the login that uses the role. Names are the names in the migrations, without a prefix. */
export interface Grants {
  /** The role of the service. It is created if it does not exist. */
  readonly role: string
  /** The connection URL of the service. Its user is allowed to switch to the role. */
  readonly serviceUrl?: string | undefined
  /** Tables that the role may read and insert into, but never update: ledgers. */
  readonly appendOnly: readonly string[]
  /** Tables that the role may only read. Functions of the owner write these tables. */
  readonly readOnly?: readonly string[]
  /** Tables whose rows the role may read, insert and update, but never delete. */
  readonly undeletable?: readonly string[]
  /** Columns of append-only or read-only tables that the role may update, by table. */
  readonly columns?: Readonly<Record<string, readonly string[]>>
  /**
   * The functions that the role may call, in addition to functions that only read and functions that run with the rights of their
   * owner. If it is `undefined`, the role may call all functions.
   */
  readonly invoker?: readonly string[] | undefined
  /** The rights of operators, which the role does not have. `undefined` if the service has no operators. */
  readonly operators?: OperatorGrants | undefined
}

/** The functions and tables on which the role of operators has other rights than the role of the service. */
interface OperatorGrants {
  /** Functions that run with the rights of their owner and that the role of the service may not call. */
  readonly functions: readonly string[]
  /**
   * Tables that the role of operators may only read, even if the role of the service may write them. Functions of the owner write
   * these tables.
   */
  readonly readOnly?: readonly string[]
  /** The role that may call the functions. It also has the rights of the service's role. It is created if it does not exist. */
  readonly role?: string | undefined
  /** The connection URL for changes by operators. Its user is allowed to switch to the role. */
  readonly url?: string | undefined
}

interface GrantOptions extends Grants {
  readonly names: Names
}

/**
 * Creates the role of a service, allows the user of the service to switch to it, and grants it its rights.
 * @throws Error if the role is not a lower-case name
 */
export async function grantToRole(db: Kysely<unknown>, options: GrantOptions): Promise<void> {
  const { role, serviceUrl, operators } = options
  await prepareRole(db, role, serviceUrl)
  if (operators?.role !== undefined) await prepareRole(db, operators.role, operators.url)
  await grantOnObjects(db, options)
}

/**
 * Creates a role, and grants it to the current user and to the user of the URL.
 * @throws Error if the role is not a lower-case name
 */
async function prepareRole(db: Kysely<unknown>, role: string, url: string | undefined): Promise<void> {
  if (!ROLE_PATTERN.test(role)) throw new Error(`"${role}" is not a role name`)
  await createRole(db, role)
  await allowRole(db, role, sql`current_user`)
  if (url !== undefined) await allowRole(db, role, sql`${loginOf(url)}`)
}

/**
 * Grants a role its rights on the objects of the service: no DDL, and no update of ledgers. Objects of other namespaces in the
 * schema are skipped, because they may belong to another role.
 */
export async function grantOnObjects(db: Kysely<unknown>, options: Omit<GrantOptions, 'serviceUrl'>): Promise<void> {
  const { role, operators, invoker, readOnly = [], columns = {} } = options
  await grantAsRole(db, role, options)
  if (operators?.role === undefined) return
  const shut = operators.readOnly ?? []
  await grantAsRole(db, operators.role, {
    ...options,
    operators: undefined,
    invoker: invoker && [...invoker, ...operators.functions],
    readOnly: [...readOnly, ...shut],
    columns: Object.fromEntries(Object.entries(columns).filter(([table]) => !shut.includes(table))),
  })
}

async function grantAsRole(
  db: Kysely<unknown>,
  role: string,
  options: Omit<GrantOptions, 'serviceUrl' | 'role'>,
): Promise<void> {
  const { names, appendOnly, readOnly = [], undeletable = [], columns = {}, invoker, operators } = options
  await grantOnTables(db, role, {
    ...names,
    closed: [],
    readOnly: [...migratorTables, ...readOnly],
    appendOnly,
    undeletable,
    columns,
  })
  if (await schemaExists(db, names.jobSchema)) {
    await grantOnTables(db, role, {
      schema: names.jobSchema,
      prefix: '',
      closed: queueRights.closed,
      readOnly: ['version'],
      // A worker inserts its own queue for schedules when it starts.
      appendOnly: ['queue'],
      undeletable: [],
      columns: await findWorkerColumns(db, names.jobSchema),
    })
  }
  // `PUBLIC` may call new functions, except closed ones. The rights on the schema protect the others.
  if (invoker) await grantFunctions(db, { names, role, invoker, withheld: operators?.functions ?? [] })
}

/** Tables of a schema by a role's rights, without prefix. The role has all rights except DDL on other tables. */
interface TableRights extends Pick<Names, 'schema' | 'prefix'>, Required<Pick<Grants, 'columns'>> {
  readonly closed: readonly string[]
  readonly readOnly: readonly string[]
  readonly appendOnly: readonly string[]
  readonly undeletable: readonly string[]
}

async function grantOnTables(db: Kysely<unknown>, role: string, rights: TableRights): Promise<void> {
  const { schema, prefix, closed, readOnly, appendOnly, undeletable, columns } = rights
  const to = sql.id(role)
  await sql`GRANT USAGE ON SCHEMA ${sql.id(schema)} TO ${to}`.execute(db)
  const relations = await listRelations(db, { schema, prefix })
  const tables = relations.filter(({ kind }) => kind !== 'S')
  const tablesOf = (list: readonly string[]) => tables.filter(({ name }) => list.some((own) => prefix + own === name))
  const [shut, read, ledgers, kept] = [
    tablesOf(closed),
    tablesOf(readOnly),
    tablesOf(appendOnly),
    tablesOf(undeletable),
  ]
  const special = new Set([...shut, ...read, ...ledgers, ...kept])
  const idsOf = (objects: readonly Relation[]) => sql.join(objects.map(({ name }) => sql.id(schema, name)))
  for (const [right, objects] of [
    [sql`ALL`, [...shut, ...read]],
    [sql`UPDATE, DELETE, TRUNCATE`, ledgers],
    [sql`DELETE, TRUNCATE`, kept],
  ] as const) {
    if (objects.length > 0) await sql`REVOKE ${right} ON TABLE ${idsOf(objects)} FROM ${to}`.execute(db)
  }
  for (const [right, objects] of [
    [sql`SELECT ON TABLE`, read],
    [sql`SELECT, INSERT ON TABLE`, ledgers],
    [sql`SELECT, INSERT, UPDATE ON TABLE`, kept],
    [sql`SELECT, INSERT, UPDATE, DELETE ON TABLE`, tables.filter((table) => !special.has(table))],
    [sql`USAGE, SELECT ON SEQUENCE`, relations.filter(({ kind }) => kind === 'S')],
  ] as const) {
    if (objects.length > 0) await sql`GRANT ${right} ${idsOf(objects)} TO ${to}`.execute(db)
  }
  for (const [table, changed] of Object.entries(columns)) {
    const list = sql.join(changed.map((column) => sql.id(column)))
    await sql`GRANT UPDATE (${list}) ON TABLE ${sql.id(schema, prefix + table)} TO ${to}`.execute(db)
  }
}

interface Relation {
  readonly name: string
  /** `S` for a sequence, `r` or `p` for a table, `v` for a view. */
  readonly kind: string
}

async function listRelations(
  db: Kysely<unknown>,
  place: Pick<Names, 'schema' | 'prefix'>,
): Promise<readonly Relation[]> {
  const { rows } = await sql<Relation>`
    SELECT c.relname AS name, c.relkind::text AS kind FROM pg_class c
    WHERE c.relnamespace = format('%I', ${place.schema}::text)::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
      AND ${isOwn(sql.ref('c.relname'), place)}
    ORDER BY c.relname`.execute(db)
  return rows
}

async function createRole(db: Kysely<unknown>, role: string): Promise<void> {
  const { rows } = await sql`SELECT 1 FROM pg_roles WHERE rolname = ${role}`.execute(db)
  // A migration of another service may create the same role at the same time.
  if (rows.length === 0) {
    await sql`DO $$ BEGIN CREATE ROLE ${sql.id(role)} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`.execute(
      db,
    )
  }
}

/** Returns the user of a connection URL, percent-decoded as PostgreSQL expects it. */
export function loginOf(url: string): string {
  return decodeURIComponent(new URL(url).username)
}

/** Returns the password of a connection URL, percent-decoded, or `undefined` if the URL has no password. */
export function passwordOf(url: string): string | undefined {
  return decodeURIComponent(new URL(url).password) || undefined
}

/**
 * Allows a user to switch to the role, unless the user already may: the role's creator need not let the owner grant it. Since
 * PostgreSQL 16, the creator of a role is a member of it but may not switch to it.
 */
async function allowRole(db: Kysely<unknown>, role: string, login: RawBuilder<unknown>): Promise<void> {
  const { rows } = await sql<{ rolname: string }>`
    SELECT rolname FROM pg_roles WHERE rolname = ${login} AND NOT pg_has_role(
      rolname, ${role}, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END
    )`.execute(db)
  for (const { rolname } of rows) await sql`GRANT ${sql.id(role)} TO ${sql.id(rolname)}`.execute(db)
}

async function schemaExists(db: Kysely<unknown>, schema: string): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`.execute(db)
  return rows.length > 0
}

/**
 * The rights of a service on the tables of its job queue. pg-boss runs statements from the table `bam` with the rights of the
 * user who installs it, the owner.
 */
export const queueRights = {
  /** A table with statements that an installation runs. The role has no rights on it. */
  closed: ['bam'],
  /** Tables that the role may read and update, except for these columns. Only an installation sets these columns. */
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

/** Returns the columns that workers update, by table. */
async function findWorkerColumns(db: Kysely<unknown>, schema: string): Promise<Record<string, readonly string[]>> {
  const { rows } = await sql<{ table: string; column: string }>`
    SELECT c.relname AS table, a.attname AS column FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = format('%I', ${schema}::text)::regnamespace AND c.relname = ANY (${Object.keys(queueRights.installed)})
    ORDER BY c.relname, a.attnum`.execute(db)
  const columns: Record<string, readonly string[]> = {}
  for (const [table, own] of Object.entries<readonly string[]>(queueRights.installed)) {
    const all = rows.filter((row) => row.table === table).map(({ column }) => column)
    if (all.length > 0) columns[table] = all.filter((column) => !own.includes(column))
  }
  return columns
}
