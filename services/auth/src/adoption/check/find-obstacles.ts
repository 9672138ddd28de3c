import { createSilentDatabase } from '@trestle/database/driver/hosts.ts'
import { CLEAN_UP_INDEXES } from '@trestle/migrations/auth/clean-up-indexes.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { hasRelation, listForeignSchemas, listStrangers, requireFixedPath } from '../../schema/catalog.ts'
import { describeAdopted, findUnrecorded } from '../../schema/existing-schema.ts'
import { ownTables, REFUSING_FUNCTION } from '../../schema/own-objects.ts'
import { findRecord, placesOf, schemasOf } from '../adoption-record.ts'
import { listHeirs } from '../changes/added-columns.ts'
import { listLooseSequences, listSpentNumbers } from '../copy/copy-refresh-tokens.ts'
import { type TrialReach, tryWrites, UNTRIED } from '../trial/try-writes.ts'
import { listRowColumns, listRowWriters } from '../trial/whole-row-functions.ts'
import { findVersion, listChangedTypes, readEncoding, SERVED, UNSERVED } from '../upstream-tables.ts'
import { listIdentityKeys } from './list-dependents.ts'
import { listMissingRights } from './missing-rights.ts'

/** The newest migrations of supabase/auth 2.40 and of 2.196. */
const OLDEST_VERSION = '20221215195900'
const NEWEST_VERSION = '20260625000000'

/**
 * The progress of an earlier run. `begun`: it has created tables. `switched`: this service has taken over. `finished`: the audit
 * log is copied too. `forgotten`: the record was dropped, so undo is impossible.
 */
export type EarlierRun = 'none' | 'begun' | 'switched' | 'finished' | 'forgotten'

interface Adoptability {
  /** The newest migration of supabase/auth, or `none` if it is unknown. */
  readonly version: string
  readonly earlierRun: EarlierRun
  readonly obstacles: readonly string[]
  /** Triggers and functions to check before the adoption, one per line. They do not prevent the adoption. */
  readonly doubts: readonly string[]
}

interface AdoptionWish {
  readonly names: Names
  /** Whether to ignore an unknown version, and functions that seem to use all columns of a table. */
  readonly force: boolean
  /** The value of `AUTH_DB_ROLE`. */
  readonly role: string | undefined
  /** Which triggers of applications may run in the trial. */
  readonly reach: TrialReach
}

/**
 * Finds the reasons why a database cannot be adopted.
 * @returns the version, and a line with advice for each reason. If there is no reason, the database can be adopted, or an earlier
 * run has already switched
 * @throws Error if `users` is not a table, or if the search path differs from that of `adoptOptions`
 */
export async function findObstacles(db: Kysely<unknown>, wish: AdoptionWish): Promise<Adoptability> {
  const { names, force, role } = wish
  const { schema } = names
  await requireFixedPath(db)
  if (names.prefix !== '') return refuse('AUTH_DB_NAMESPACE gives all names a prefix: unset it')
  const outsider = await findOutsider(db, schema)
  if (outsider !== undefined) return refuse(describeOutsider(outsider))
  const squatted = await listForeignSchemas(db, schemasOf(placesOf(names)))
  if (squatted.length > 0) return refuse(...squatted)
  const record = await findRecord(db, placesOf(names))
  const unrecorded = record === undefined ? await findUnrecorded(db, names) : 'nothing'
  if (unrecorded === 'own') return refuse(`the schema ${schema} has the tables of this service already`)
  if (unrecorded === 'adopted')
    return { version: await findVersion(db, names), earlierRun: 'forgotten', obstacles: [], doubts: [] }
  if (record !== undefined && record.switchedAt !== null) {
    const earlierRun = record.finishedAt === null ? 'switched' : 'finished'
    return { version: record.version, earlierRun, obstacles: [], doubts: [] }
  }
  if (!(await hasRelation(db, schema, 'schema_migrations')) || !(await hasRelation(db, schema, 'users')))
    return refuse(`the schema ${schema} has no tables of supabase/auth`)
  const hasBegun = record !== undefined || unrecorded === 'prepared'
  const version = await findVersion(db, names)
  const rights = await listRights(db, names, role)
  const basic = [
    describeVersion(version, { force }),
    ...rights,
    // Skip these checks if rights are missing, because the user may be unable to read the tables.
    ...(rights.length > 0 ? [] : await listSpentNumbers(db, names)),
    ...(rights.length > 0 ? [] : await listBrokenTexts(db, names)),
    ...(await listStrangers(db, names)),
    ...(await listIdentityKeys(db, { names })),
    ...(await listLooseSequences(db, names)),
    ...(await listRowColumns(db, { names })),
    ...(await listHeirs(db, names)),
    ...(await listChangedTypes(db, names)),
    ...(await listNamesakes(db, names, { hasBegun })),
  ].filter((obstacle) => obstacle !== undefined)
  const { obstacles, doubts } = await judgeOthers(db, wish, { isOpen: basic.length === 0 })
  return { version, earlierRun: hasBegun ? 'begun' : 'none', obstacles: [...basic, ...obstacles], doubts }
}

/** The tables from which a run reads text. The error of PostgreSQL for invalid UTF-8 names no row. */
const READ_TABLES = ['refresh_tokens', 'custom_oauth_providers'] as const
/** Matches valid UTF-8 in hexadecimal digits. PostgreSQL 15 has no function that checks whether bytes are valid. */
const UTF8 =
  '^(?:[0-7].|c[2-9a-f][89ab].|d.[89ab].|e0[ab].[89ab].|e[1-9a-cef](?:[89ab].){2}|ed[89].[89ab].|f0[9ab].(?:[89ab].){2}|f[1-3](?:[89ab].){3}|f48.(?:[89ab].){2})*$'

async function listBrokenTexts(db: Kysely<unknown>, { schema, id }: Names): Promise<readonly string[]> {
  if ((await readEncoding(db)) !== 'SQL_ASCII') return []
  const broken: string[] = []
  for (const table of READ_TABLES) {
    if (!(await hasRelation(db, schema, table))) continue
    const { rows } = await sql<{ id: string }>`
      SELECT id::text AS id FROM ${id(table)} t
      WHERE encode(convert_to(t::text, 'SQL_ASCII'), 'hex') !~ ${UTF8} ORDER BY t.id`.execute(db)
    broken.push(...rows.map((row) => `the row ${row.id} of ${schema}.${table} has bytes that are no UTF-8: correct it`))
  }
  return broken
}

/**
 * Checks whether the triggers and functions of applications keep working after tables get the columns of this service.
 * @param isOpen whether there is no other obstacle, so that a trial can add the columns and roll back
 */
async function judgeOthers(
  db: Kysely<unknown>,
  { names, force, reach }: AdoptionWish,
  { isOpen }: { readonly isOpen: boolean },
): Promise<Pick<Adoptability, 'obstacles' | 'doubts'>> {
  const trial = isOpen ? await tryWrites(db, names, reach) : UNTRIED
  const { sure, unsure } = await listRowWriters(db, { names }, trial.judged)
  return {
    obstacles: [...trial.triggers, ...(force ? [] : [...trial.functions, ...sure])],
    doubts: [...trial.doubts, ...(force ? [...trial.functions, ...sure] : []), ...unsure],
  }
}

function refuse(...obstacles: readonly string[]): Adoptability {
  return { version: 'none', earlierRun: 'none', obstacles, doubts: [] }
}

/**
 * Returns the version of a database that an import reads. Another role may own it, but the user must see its rows.
 * @throws Error with the reason why it cannot be read, in one line
 */
export async function requireReadable(
  db: Kysely<unknown>,
  { names, force }: Pick<AdoptionWish, 'names' | 'force'>,
): Promise<string> {
  const { schema } = names
  const outsider = await findOutsider(db, schema)
  if (outsider !== undefined) throw new Error(`at the source, ${describeOutsider(outsider)}`)
  if (await hasRelation(db, schema, 'trestle_migrations'))
    throw new Error(`the schema ${schema} of the source has the tables of this service, not those of supabase/auth`)
  if (!(await hasRelation(db, schema, 'schema_migrations')) || !(await hasRelation(db, schema, 'users')))
    throw new Error(`the schema ${schema} of the source has no tables of supabase/auth`)
  const { rows } = await sql<{ owner: string; user: string }>`
    SELECT pg_get_userbyid(relowner) AS owner, current_user AS "user" FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND relkind IN ('r', 'p')
      AND relname = ANY (${[...SERVED, ...UNSERVED]}::text[])
      AND (NOT has_table_privilege(oid, 'SELECT') OR row_security_active(oid)) LIMIT 1`.execute(db)
  const [hidden] = rows
  if (hidden !== undefined) throw new Error(`the source hides its rows from ${hidden.user}: connect as ${hidden.owner}`)
  await refuseImpostors(db, schema)
  const version = await findVersion(db, names)
  const obstacle = describeVersion(version, { force })
  if (obstacle !== undefined) throw new Error(obstacle)
  return version
}

/** Reading a view would run code of its owner with the rights of the reader. @throws Error for such a relation */
async function refuseImpostors(db: Kysely<unknown>, schema: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND relkind NOT IN ('r', 'p')
      AND relname = ANY (${[...SERVED, ...UNSERVED, 'schema_migrations', 'trestle_migrations']}::text[])
    ORDER BY relname LIMIT 1`.execute(db)
  if (rows[0] !== undefined) throw new Error(`${schema}.${rows[0].name} of the source is no table, so it is not read`)
}

/** Returns the version and the doubts. @throws Error with the reasons why the database cannot be adopted */
export async function requireAdoptable(
  db: Kysely<unknown>,
  wish: AdoptionWish,
): Promise<Pick<Adoptability, 'version' | 'doubts'>> {
  const { version, earlierRun, obstacles, doubts } = await findObstacles(db, wish)
  if (earlierRun === 'forgotten') throw new Error(describeAdopted(wish.names))
  if (obstacles.length > 0) throw new Error(obstacles.join('\n'))
  return { version, doubts }
}

/** A user who may not read the version of a schema, and the owner of its users table. */
interface Outsider {
  readonly user: string
  readonly owner: string
}

/** The catalogue shows the owner even to a user without rights on the schema. Any other query would fail. */
async function findOutsider(db: Kysely<unknown>, schema: string): Promise<Outsider | undefined> {
  const { rows } = await sql<Outsider>`
    SELECT current_user AS "user", pg_get_userbyid(u.relowner) AS owner
    FROM pg_namespace n JOIN pg_class u ON u.relnamespace = n.oid AND u.relname = 'users' AND u.relkind IN ('r', 'p')
    LEFT JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = 'schema_migrations'
    WHERE n.nspname = ${schema}
      AND (NOT has_schema_privilege(n.oid, 'USAGE') OR NOT has_table_privilege(m.oid, 'SELECT'))`.execute(db)
  return rows[0]
}

function describeOutsider({ user, owner }: Outsider): string {
  return `${user} does not own the tables: connect as ${owner}`
}

function describeVersion(version: string, { force }: Pick<AdoptionWish, 'force'>): string | undefined {
  if (version === 'none' || version < OLDEST_VERSION)
    return `migration ${version} is older than supabase/auth 2.40: start a later version once, which migrates the database`
  if (version > NEWEST_VERSION && !force)
    return `migration ${version} is newer than supabase/auth 2.196, which this release knows: --force takes it all the same`
  return undefined
}

/** The service works as the owner, because row level security without policies hides rows from other roles. */
async function listRights(db: Kysely<unknown>, names: Names, role: string | undefined): Promise<readonly string[]> {
  const { schema } = names
  const { rows } = await sql<{ owner: string; user: string; database: string; creates: boolean }>`
    SELECT tableowner AS owner, current_user AS "user", current_database() AS database,
      has_database_privilege(current_database(), 'CREATE') AS creates
    FROM pg_tables WHERE schemaname = ${schema} AND tablename = 'users'`.execute(db)
  const [state] = rows
  if (state === undefined) throw new Error(`users is no table of the schema ${schema}`)
  const { owner, user, database, creates } = state
  return [
    ...(user === owner ? await listMissingRights(db, names) : [describeOutsider({ user, owner })]),
    ...(role === undefined || role === owner
      ? []
      : [`AUTH_DB_ROLE is ${role}: unset it, the service works as ${owner}`]),
    ...(creates
      ? []
      : [`the database grants no CREATE: as a superuser, run GRANT CREATE ON DATABASE "${database}" TO "${owner}"`]),
  ]
}

/** Functions for policies, which supabase/auth creates too. */
const SHARED_FUNCTIONS = ['uid', 'role', 'email', 'jwt']

/**
 * Lists objects of applications with the name of an object or column that an adoption creates. A run would fail or use such an
 * object as its own, and undo would drop it.
 * @param hasBegun whether an earlier run has created tables and columns. If so, only the names of later objects are checked
 * @returns a line for each, with advice
 */
export async function listNamesakes(
  db: QueryExecutorProvider,
  names: Names,
  { hasBegun }: { readonly hasBegun: boolean },
): Promise<readonly string[]> {
  const files = (await authFunctions()).map(({ name }) => name).filter((name) => !SHARED_FUNCTIONS.includes(name))
  const { made, replaced, columns } = hasBegun ? NOTHING : await listMade(names)
  const { rows } = await sql<{ object: string }>`
    WITH place AS (SELECT to_regnamespace(format('%I', ${names.schema}::text)) AS oid)
    SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) AS object FROM pg_class c JOIN place p ON c.relnamespace = p.oid
      WHERE c.relname = ANY (${made}::text[])
        AND NOT (c.relkind IN ('r', 'p') AND c.relname = ANY (${[...SERVED, ...UNSERVED]}::text[]))
        AND NOT EXISTS (
          SELECT FROM pg_class t WHERE t.relnamespace = p.oid AND t.relname = ANY (${[...replaced]}::text[])
            AND (EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = c.oid AND i.indrelid = t.oid)
              OR EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i'))))
    UNION SELECT pg_describe_object('pg_proc'::regclass, f.oid, 0) FROM pg_proc f JOIN place p ON f.pronamespace = p.oid
      WHERE f.proname = ANY (${[...files, REFUSING_FUNCTION, ...made]}::text[])
    UNION SELECT pg_describe_object('pg_type'::regclass, t.oid, 0) FROM pg_type t JOIN place p ON t.typnamespace = p.oid
      WHERE t.typname = ANY (${made}::text[]) AND t.typrelid = 0 AND t.typcategory <> 'A'
    UNION SELECT pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum) FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid JOIN place p ON c.relnamespace = p.oid
      JOIN unnest(${columns.map(({ table }) => table)}::text[], ${columns.map(({ name }) => name)}::text[])
        AS own (table_name, column_name) ON own.table_name = c.relname AND own.column_name = a.attname
      WHERE NOT a.attisdropped
    ORDER BY object`.execute(db)
  return rows.map(
    ({ object }) => `${object} has a name that this service needs: rename it, or move it to another schema`,
  )
}

interface Made {
  /** The names that migrations use in an adopted database. Some are names of tables of supabase/auth. */
  readonly made: readonly string[]
  /** The tables of supabase/auth that move, with their indexes. */
  readonly replaced: readonly string[]
  /** The columns that this service adds to the tables of supabase/auth that stay. */
  readonly columns: readonly { readonly table: string; readonly name: string }[]
}

const NOTHING: Made = { made: [], replaced: [], columns: [] }

async function listMade(names: Names): Promise<Made> {
  const made = new Set([
    ...ownTables,
    ...Object.keys(CLEAN_UP_INDEXES),
    'users_email_lower_key',
    'trestle_functions_pkey',
  ])
  const collecting: Names = {
    ...names,
    id: (name) => names.id(collect(made, name)),
    local: (name) => names.local(collect(made, name)),
  }
  const replaced: string[] = []
  const columns: { table: string; name: string }[] = []
  const db = createSilentDatabase()
  for (const source of Object.values(authMigrations)) {
    const migration = await source(collecting)
    await (migration.inPlace ?? migration).up(db)
    replaced.push(...(migration.replaces ?? []))
    for (const [table, added] of Object.entries(migration.adds ?? {}))
      columns.push(...added.map((column) => ({ table, name: column.split(' ')[0] ?? '' })))
  }
  return { made: [...made], replaced, columns }
}

/** Adds a name to the set, and returns the name. */
function collect(made: Set<string>, name: string): string {
  made.add(name)
  return name
}
