import { listExecuted } from '@trestle/database/migrations/migrator.ts'
import { isOfExtension, MIGRATIONS, migratorTable } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { hasRelation } from './catalog.ts'

/** The newest migration in a schema `auth` that Supabase's PostgreSQL image creates, before supabase/auth has run. */
const NEWEST_AT_BIRTH = '20180125194653'
const TABLES_AT_BIRTH = ['audit_log_entries', 'instances', 'refresh_tokens', 'schema_migrations', 'users'] as const

/** The tables that supabase/auth and this service both have. Of these, supabase/auth's first migrations created only `users`. */
const SHARED_TABLES = ['users', 'identities', 'sessions', 'mfa_factors', 'mfa_amr_claims'] as const

/** Gives new tables the owners and rights of the dropped tables. */
type Restore = (db: Kysely<unknown>) => Promise<void>

/**
 * Checks the schema before the first migration. Drops tables that were never used. Supabase's PostgreSQL image creates them, and
 * functions, for the first versions of supabase/auth.
 * @returns a function that gives the new tables the owners and rights of the dropped tables
 * @throws Error if the schema belongs to supabase/auth or has other tables, or if the user may not create schemas
 */
export async function clearExistingSchema(db: Kysely<unknown>, names: Names): Promise<Restore> {
  // With a prefix, the service's tables have other names than existing tables.
  const tables = names.prefix === '' ? await listForeignTables(db, names) : []
  if (tables.length > 0) await requireUnused(db, names, tables)
  await requireRightToCreate(db, names)
  if (tables.length === 0) return async () => {}
  const rights = await readRights(db, names, tables)
  await sql`DROP TABLE ${sql.join(tables.map((table) => sql.id(names.schema, table)))}`.execute(db)
  return (later) => restoreRights(later, names, rights)
}

/** Whether the schema has used tables of supabase/auth that were not adopted. */
export async function belongsToUpstream(db: QueryExecutorProvider, names: Names): Promise<boolean> {
  if (names.prefix !== '') return false
  const tables = await listForeignTables(db, names)
  const version = await findUpstreamVersion(db, names, tables)
  return version !== undefined && !(await isAsAtBirth(db, names, { tables, version }))
}

/** Whether supabase/auth has created tables in the schema. It may be adopted already or not. */
export async function hasUpstreamTables(db: QueryExecutorProvider, names: Names): Promise<boolean> {
  return names.prefix === '' && (await hasRelation(db, names.schema, 'schema_migrations'))
}

/** The migration after which the old service cannot use the database. An adoption runs it last. */
const CHANGED_BY_SWITCH = '0007-create-sessions'

/**
 * An adoption creates the first tables while supabase/auth is running. Only the adoption may create the other tables, which have
 * the same names as tables of supabase/auth.
 * @throws Error between `auth adopt --prepare` and `auth adopt`
 */
export async function requireSwitched(db: Kysely<unknown>, names: Names): Promise<void> {
  if (!(await hasUpstreamTables(db, names))) return
  const executed = await listExecuted(db, names)
  if (executed.length > 0 && !executed.some(({ name }) => name === CHANGED_BY_SWITCH))
    throw new Error(
      `auth adopt has prepared the schema ${names.schema}, from which supabase/auth serves: run auth adopt, which takes over, or auth adopt --undo, which gives up`,
    )
}

/**
 * Refuses to revert migrations in an adopted schema. They would drop the tables of supabase/auth with all users.
 * @throws Error once `auth adopt --prepare` or `auth adopt` has run
 */
export async function requireNotAdopted(db: Kysely<unknown>, names: Names): Promise<void> {
  await requireSwitched(db, names)
  if (!(await hasUpstreamTables(db, names))) return
  if ((await listExecuted(db, names)).length === 0) return
  const wayBack = (await hasRelation(db, `${names.schema}_before_trestle`, 'adoption'))
    ? 'auth adopt --undo gives the database back'
    : describeAdopted(names)
  throw new Error(
    `the schema ${names.schema} has the tables of supabase/auth, which migrate down would drop: ${wayBack}`,
  )
}

/**
 * The state of a schema without a record of its adoption. `prepared`: a prepared database was restored without the schema of the
 * record. `adopted`: `adopt --forget` has dropped that schema, or a restored database lacks it. `own`: supabase/auth never used
 * the database.
 */
type Unrecorded = 'nothing' | 'prepared' | 'adopted' | 'own'

/** Finds the state of a schema without a record of an adoption. Ignores tables that other roles own. */
export async function findUnrecorded(db: Kysely<unknown>, names: Names): Promise<Unrecorded> {
  if (!(await hasRelation(db, names.schema, migratorTable(names, MIGRATIONS)))) return 'nothing'
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND relkind = 'r' AND relowner = current_user::regrole
      AND relname IN ('schema_migrations', 'users', ${migratorTable(names, MIGRATIONS)})`.execute(db)
  if (rows.length < 3) return 'own'
  const executed = await listExecuted(db, names)
  return executed.some(({ name }) => name === CHANGED_BY_SWITCH) ? 'adopted' : 'prepared'
}

/** Explains why an adoption cannot be done or undone in a schema that is `adopted` without a record. */
export function describeAdopted({ schema }: Names): string {
  return `the schema ${schema} is adopted for good: adopt --forget has dropped what undo needs, or the dump from which it was restored lacks the schema ${schema}_before_trestle. Start the service`
}

async function requireUnused(db: Kysely<unknown>, names: Names, tables: readonly string[]): Promise<void> {
  const version = await findUpstreamVersion(db, names, tables)
  if (version === undefined) throw new Error(describeOthers(names, tables))
  if (!(await isAsAtBirth(db, names, { tables, version })))
    throw new Error(
      `the schema ${names.schema} belongs to supabase/auth (migration ${version}): run auth adopt --check, which says what carries over, or name another schema by AUTH_DB_SCHEMA`,
    )
}

/** The job queue has its own schema. In older images of Supabase, the user of supabase/auth may not create it. */
async function requireRightToCreate(db: Kysely<unknown>, { jobSchema }: Names): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) AS statement
    WHERE to_regnamespace(${`"${jobSchema}"`}) IS NULL
      AND NOT has_database_privilege(current_database(), 'CREATE')`.execute(db)
  for (const { statement } of rows)
    throw new Error(`the schema ${jobSchema} cannot be created: as a superuser (supabase_admin), run ${statement}`)
}

/** The tables of the schema, except those of extensions and of other namespaces of this service. */
async function listForeignTables(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class c
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${schema}) AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT ${isOfExtension('pg_class', sql.ref('c.oid'))}
      AND NOT EXISTS (
        SELECT FROM pg_class mark WHERE mark.relnamespace = c.relnamespace AND mark.relname LIKE '%trestle\\_migrations'
          AND starts_with(c.relname, left(mark.relname, ${sql.lit(-'trestle_migrations'.length)})))
    ORDER BY relname`.execute(db)
  return rows.map(({ name }) => name)
}

function describeOthers({ schema }: Names, tables: readonly string[]): string {
  return `the schema ${schema} has tables of others (${listFirst(tables)}): name another schema by AUTH_DB_SCHEMA`
}

/** The newest migration of supabase/auth, or `undefined` if supabase/auth has not created the tables. */
async function findUpstreamVersion(
  db: QueryExecutorProvider,
  { schema }: Names,
  tables: readonly string[],
): Promise<string | undefined> {
  if (!tables.includes('users') || !tables.includes('schema_migrations')) return undefined
  const { rows: columns } = await sql`
    SELECT FROM information_schema.columns
    WHERE table_schema = ${schema} AND table_name = 'schema_migrations' AND column_name = 'version'`.execute(db)
  if (columns.length === 0) return undefined
  const { rows } = await sql<{ version: string | null }>`
    SELECT max(version) AS version FROM ${sql.id(schema, 'schema_migrations')}`.execute(db)
  return rows[0]?.version ?? 'none'
}

async function isAsAtBirth(
  db: QueryExecutorProvider,
  { schema }: Names,
  { tables, version }: { readonly tables: readonly string[]; readonly version: string },
): Promise<boolean> {
  if (version > NEWEST_AT_BIRTH || tables.some((table) => !TABLES_AT_BIRTH.some((known) => known === table)))
    return false
  for (const table of tables.filter((name) => name !== 'schema_migrations')) {
    const { rows } = await sql`SELECT FROM ${sql.id(schema, table)} LIMIT 1`.execute(db)
    if (rows.length > 0) return false
  }
  return true
}

interface TableRight {
  readonly table: string
  readonly owner: string
  /** `null` for the owner's rights, which every new table has. */
  readonly grantee: string | null
  readonly right: string | null
  readonly isGrantable: boolean | null
}

/**
 * Applies the rights on `users` to every shared table. A program that inserts users, such as a seed file, inserts identities too.
 */
async function readRights(
  db: Kysely<unknown>,
  { schema }: Names,
  tables: readonly string[],
): Promise<readonly TableRight[]> {
  const { rows } = await sql<TableRight>`
    SELECT heir AS "table", pg_get_userbyid(relowner) AS owner, acl.is_grantable AS "isGrantable",
      acl.privilege_type AS "right", CASE WHEN acl.grantee = 0 THEN 'public' ELSE pg_get_userbyid(acl.grantee) END AS grantee
    FROM pg_class LEFT JOIN LATERAL aclexplode(relacl) acl ON acl.grantee <> relowner
    CROSS JOIN unnest(CASE relname WHEN 'users' THEN ${SHARED_TABLES}::text[] ELSE ARRAY[relname::text] END) heir
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${schema}) AND relname = ANY(${tables})
    ORDER BY heir, grantee, "right"`.execute(db)
  return rows
}

/** Grants the rights before it changes the owner, because only the owner may grant. */
async function restoreRights(db: Kysely<unknown>, { schema }: Names, rights: readonly TableRight[]): Promise<void> {
  const { rows } = await sql<{ name: string; owner: string }>`
    SELECT relname AS name, pg_get_userbyid(relowner) AS owner FROM pg_class
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${schema}) AND relkind = 'r'`.execute(db)
  const owners = new Map(rows.map(({ name, owner }) => [name, owner]))
  for (const { table, grantee, right, isGrantable } of rights) {
    if (!owners.has(table) || grantee === null || right === null) continue
    const to = grantee === 'public' ? sql`PUBLIC` : sql.id(grantee)
    const option = isGrantable ? sql` WITH GRANT OPTION` : sql``
    await sql`GRANT ${sql.raw(right)} ON ${sql.id(schema, table)} TO ${to}${option}`.execute(db)
  }
  for (const [table, { owner }] of new Map(rights.map((each) => [each.table, each]))) {
    if (owners.has(table) && owners.get(table) !== owner)
      await sql`ALTER TABLE ${sql.id(schema, table)} OWNER TO ${sql.id(owner)}`.execute(db)
  }
}

/** The maximum number of names in a line of a command. */
export const NAMED_MAX = 5

/** Formats the first names and the number of others: `a, b, c, d, e and 3 more`. @param count the number of all names */
export function listFirst(names: readonly string[], count: number = names.length): string {
  const more = count > NAMED_MAX ? ` and ${count - NAMED_MAX} more` : ''
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`
}
