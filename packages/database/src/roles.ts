import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { type CallableFunctions, grantFunctions } from './function-rights.ts'
import { isOwn } from './namespace.ts'

/** A role name that needs no quoting anywhere. */
export const ROLE_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/

/** The rights that a service's role has. */
export interface Grants {
  /** The role that the service works as. Made when it is missing. */
  readonly role: string
  /** The URL that the service connects by: its user may take on the role from then on. */
  readonly serviceUrl?: string | undefined
  /** Tables that the role may read and add to, but never change: ledgers. */
  readonly appendOnly: readonly string[]
  /** Tables that the role may read alone: functions of the owner write them. */
  readonly readOnly?: readonly string[]
  /** Columns of such tables that the role may change all the same, by table. */
  readonly columns?: Readonly<Record<string, readonly string[]>>
  /** The functions that the role may call besides those that only read; undefined: all of them. */
  readonly functions?: CallableFunctions | undefined
}

export interface GrantOptions extends Grants {
  readonly names: Names
}

/** Makes the service's role, lets the service take it on, and gives it what it needs of the service's objects. */
export async function grantToRole(db: Kysely<unknown>, options: GrantOptions): Promise<void> {
  const { role, serviceUrl } = options
  if (!ROLE_PATTERN.test(role)) throw new Error(`"${role}" is no role name`)
  await createRole(db, role)
  if (serviceUrl !== undefined) await admitLogin(db, role, serviceUrl)
  await grantOnObjects(db, options)
}

/**
 * Gives a role what it needs of the service's own objects and nothing else: no DDL, no change of ledgers. Objects of
 * another namespace in the same schema are left alone: they may belong to another role.
 */
export async function grantOnObjects(
  db: Kysely<unknown>,
  { names, role, appendOnly, readOnly = [], columns = {}, functions }: Omit<GrantOptions, 'serviceUrl'>,
): Promise<void> {
  const to = sql.id(role)
  const unchanging = new Set(appendOnly.map((name) => names.prefix + name))
  const readable = new Set(readOnly.map((name) => names.prefix + name))
  const migratorsOwn = new Set(['schema_migrations', 'schema_migrations_lock'].map((name) => names.prefix + name))
  for (const { schema, prefix } of [names, { schema: names.jobSchema, prefix: '' }]) {
    if (!(await schemaExists(db, schema))) continue
    await sql`GRANT USAGE ON SCHEMA ${sql.id(schema)} TO ${to}`.execute(db)
    const relations = await listRelations(db, { schema, prefix })
    const tables = relations.filter(({ kind }) => kind !== 'S')
    const histories = tables.filter(({ name }) => migratorsOwn.has(name))
    const ledgers = tables.filter(({ name }) => unchanging.has(name))
    const written = tables.filter(({ name }) => readable.has(name))
    const special = new Set([...unchanging, ...readable, ...migratorsOwn])
    const changing = tables.filter(({ name }) => !special.has(name))
    const sequences = relations.filter(({ kind }) => kind === 'S')
    if (ledgers.length > 0) {
      const list = sql.join(ledgers.map(({ name }) => sql.id(schema, name)))
      await sql`REVOKE UPDATE, DELETE, TRUNCATE ON TABLE ${list} FROM ${to}`.execute(db)
    }
    if (histories.length > 0) {
      const list = sql.join(histories.map(({ name }) => sql.id(schema, name)))
      await sql`REVOKE ALL ON TABLE ${list} FROM ${to}`.execute(db)
    }
    if (written.length > 0) {
      const list = sql.join(written.map(({ name }) => sql.id(schema, name)))
      await sql`REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON TABLE ${list} FROM ${to}`.execute(db)
    }
    for (const [right, objects] of [
      [sql`SELECT ON TABLE`, histories],
      [sql`SELECT ON TABLE`, written],
      [sql`SELECT, INSERT ON TABLE`, ledgers],
      [sql`SELECT, INSERT, UPDATE, DELETE ON TABLE`, changing],
      [sql`USAGE, SELECT ON SEQUENCE`, sequences],
    ] as const) {
      const list = sql.join(objects.map(({ name }) => sql.id(schema, name)))
      if (objects.length > 0) await sql`GRANT ${right} ${list} TO ${to}`.execute(db)
    }
  }
  for (const [table, changed] of Object.entries(columns)) {
    const list = sql.join(changed.map((column) => sql.id(column)))
    await sql`GRANT UPDATE (${list}) ON TABLE ${names.id(table)} TO ${to}`.execute(db)
  }
  // Functions are open to PUBLIC from their creation, but for those that were closed; the schema is what guards the others.
  if (functions) await grantFunctions(db, { names, role, functions })
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
    SELECT relname AS name, relkind::text AS kind FROM pg_class
    WHERE relnamespace = ${place.schema}::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
      AND ${isOwn(sql.ref('relname'), place)}
    ORDER BY relname`.execute(db)
  return rows
}

async function createRole(db: Kysely<unknown>, role: string): Promise<void> {
  const { rows } = await sql`SELECT 1 FROM pg_roles WHERE rolname = ${role}`.execute(db)
  // Another service's migration may make the same role at the same moment.
  if (rows.length === 0) {
    await sql`DO $$ BEGIN CREATE ROLE ${sql.id(role)} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`.execute(
      db,
    )
  }
  await sql`GRANT ${sql.id(role)} TO CURRENT_USER`.execute(db)
}

/** The user of a connection URL. */
export function loginOf(url: string): string {
  return decodeURIComponent(new URL(url).username)
}

/** Without this a service whose user is not the one that migrates could not take on its role. */
async function admitLogin(db: Kysely<unknown>, role: string, serviceUrl: string): Promise<void> {
  const login = loginOf(serviceUrl)
  const { rows } = await sql`
    SELECT FROM pg_roles WHERE rolname = ${login} AND NOT pg_has_role(rolname, ${role}, 'MEMBER')`.execute(db)
  if (rows.length > 0) await sql`GRANT ${sql.id(role)} TO ${sql.id(login)}`.execute(db)
}

async function schemaExists(db: Kysely<unknown>, schema: string): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`.execute(db)
  return rows.length > 0
}
