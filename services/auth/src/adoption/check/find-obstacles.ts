import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { hasRelation, listForeignSchemas, listStrangers, requireFixedPath } from '../../schema/catalog.ts'
import { describeAdopted, findUnrecorded } from '../../schema/existing-schema.ts'
import { findRecord, placesOf, schemasOf } from '../adoption-record.ts'
import { listHeirs } from '../changes/added-columns.ts'
import { listLooseSequences, listSpentNumbers } from '../copy/token-numbers.ts'
import { type TrialReach, tryWrites, UNTRIED } from '../trial/try-writes.ts'
import { listRowColumns, listRowWriters } from '../trial/whole-row-functions.ts'
import { findVersion, readEncoding, SERVED, UNSERVED } from '../upstream-tables.ts'
import { listIdentityKeys } from './identity-readers.ts'
import { listMissingRights } from './missing-rights.ts'
import { listNamesakes } from './taken-names.ts'
import { listChangedTypes } from './upstream-columns.ts'

/** The newest migrations of supabase/auth 2.40 and of 2.196. */
const OLDEST_VERSION = '20221215195900'
const NEWEST_VERSION = '20260625000000'

/**
 * Whether an earlier run of an adoption has begun to make tables of this service, has switched, or has also
 * copied the audit log, and whether what undo needs is gone since.
 */
export type EarlierRun = 'none' | 'begun' | 'switched' | 'finished' | 'forgotten'

/** Whether a database can be adopted. */
interface Adoptability {
  /** The newest migration of supabase/auth; `none` where it is not known. */
  readonly version: string
  readonly earlierRun: EarlierRun
  readonly obstacles: readonly string[]
  /** Triggers and functions to look at beforehand, each in a line, which are no obstacle. */
  readonly doubts: readonly string[]
}

/** The names of an adoption, and the options of its command. */
export interface AdoptionWish {
  readonly names: Names
  /**
   * Whether to adopt a version that this release does not know, and where functions of others seem to take
   * all columns of a table.
   */
  readonly force: boolean
  /** AUTH_DB_ROLE. */
  readonly role: string | undefined
  /** How far triggers of others may reach that are tried. */
  readonly reach: TrialReach
}

/**
 * Finds out why a database cannot be adopted.
 * @returns its version, and each reason in a line, with what to do about it; the reasons are empty where it
 * can be adopted, or where an earlier run has switched, whatever has become of its record
 * @throws Error where `users` is no table, or the search path is not that of `adoptOptions`
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
    // Without its rights, the user may not read the tokens.
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

/** The tables of which a run reads texts. PostgreSQL does not send a text that is no UTF-8, and names no row. */
const READ_TABLES = ['refresh_tokens', 'custom_oauth_providers'] as const
/** UTF-8 in hexadecimal digits. PostgreSQL 15 cannot ask whether bytes are valid. */
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
 * Judges the triggers and functions of others: whether they go on once tables have the columns of this service.
 * @param isOpen whether nothing else is in the way: the columns can be added, and taken back
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
 * The version of a database that an import reads. It may belong to somebody else, who must see its rows.
 * @throws Error with the reason why it cannot be read, in a line
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

/** To read a view would run what its owner wrote with the rights of its reader. @throws Error for what is no table */
async function refuseImpostors(db: Kysely<unknown>, schema: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND relkind NOT IN ('r', 'p')
      AND relname = ANY (${[...SERVED, ...UNSERVED, 'schema_migrations', 'trestle_migrations']}::text[])
    ORDER BY relname LIMIT 1`.execute(db)
  if (rows[0] !== undefined) throw new Error(`${schema}.${rows[0].name} of the source is no table, so it is not read`)
}

/** A database that can be adopted: its version, and what to look at. @throws Error with the reasons why it cannot */
export async function requireAdoptable(
  db: Kysely<unknown>,
  wish: AdoptionWish,
): Promise<Pick<Adoptability, 'version' | 'doubts'>> {
  const { version, earlierRun, obstacles, doubts } = await findObstacles(db, wish)
  if (earlierRun === 'forgotten') throw new Error(describeAdopted(wish.names))
  if (obstacles.length > 0) throw new Error(obstacles.join('\n'))
  return { version, doubts }
}

/** A user who may not read which version a schema has, and the owner of its users. */
interface Outsider {
  readonly user: string
  readonly owner: string
}

/**
 * The catalogue of PostgreSQL shows the owner also to a user who may not use the schema. Any other query would fail for such a
 * user.
 */
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

/** The service works as the owner of the tables, because row level security without policies hides them from everybody else. */
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
