import { type FunctionFiles, withNames } from '@trestle/migrations/functions.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { columns } from '../batches/columns.ts'
import { migratorTable } from '../names.ts'

export interface ReleasedFunctions {
  readonly files: FunctionFiles
  /** The version of the service: `1.4.0`. */
  readonly release: string
  /**
   * Functions that another program may have made in the schema, by name, each with a text that the body of a usable one
   * contains. A usable one is left as it is; another one is replaced.
   */
  readonly foreign?: Readonly<Record<string, string>> | undefined
  /** Whether every one of them is usable, whatever its body: its users had it before they had this service. */
  readonly keepsForeign?: ((db: QueryExecutorProvider, names: Names) => Promise<boolean>) | undefined
}

export interface InstalledFunction {
  readonly name: string
  readonly hash: string
  readonly release: string
  /** Whether its release is later than the one that asks. */
  readonly isLater: boolean
}

/** The hash in `trestle_functions` of a function that another program made. It is neither replaced nor dropped. */
export const FOREIGN = 'foreign'

/** Makes the table `trestle_functions`, unless it exists. */
export async function createRecord(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS ${table(names)} (
      name text CONSTRAINT ${names.local('trestle_functions_pkey')} PRIMARY KEY, hash text NOT NULL, release text NOT NULL)`.execute(
    trx,
  )
}

/** Records the functions of a release as installed, and no others. */
export async function recordInstalled(
  trx: Kysely<unknown>,
  names: Names,
  { functions, foreign }: { readonly functions: ReleasedFunctions; readonly foreign: ReadonlySet<string> },
): Promise<void> {
  const { files, release } = functions
  const own = (await files()).map(({ name, hash }) => ({ name, hash: foreign.has(name) ? FOREIGN : hash }))
  await sql`DELETE FROM ${table(names)}`.execute(trx)
  await sql`
    INSERT INTO ${table(names)} (name, hash, release)
    SELECT name, hash, ${release} FROM unnest(${columns(own, { name: 'text', hash: 'text' })}) AS own (name, hash)`.execute(
    trx,
  )
}

/** The installed functions. Empty in a database where none was ever installed. */
export async function listInstalled(
  db: QueryExecutorProvider,
  names: Names,
  release: string,
): Promise<readonly InstalledFunction[]> {
  if (!(await hasTable(db, names))) return []
  const { rows } = await sql<InstalledFunction>`
    SELECT name, hash, release,
      ${numbersOf(sql.ref('release'))} > ${numbersOf(sql`${release}::text`)} AS "isLater"
    FROM ${table(names)} ORDER BY name`.execute(db)
  return rows
}

/**
 * The names of the installed functions.
 * @param except a hash: functions whose text has it are left out
 */
export async function listInstalledNames(
  db: QueryExecutorProvider,
  names: Names,
  except = '',
): Promise<readonly string[]> {
  if (!(await hasTable(db, names))) return []
  const { rows } = await sql<{ name: string }>`SELECT name FROM ${table(names)} WHERE hash <> ${except}`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * The functions in the schema that another program made and that are usable: those that are recorded as such, and those that
 * were there first. A function of this service that its record has lost has the text of its file. Where all are kept, somebody
 * may also have replaced one that this service had made.
 */
export async function findForeign(
  db: QueryExecutorProvider,
  names: Names,
  { files, foreign = {}, keepsForeign, release }: ReleasedFunctions,
): Promise<ReadonlySet<string>> {
  const recorded = new Map((await listInstalled(db, names, release)).map(({ name, hash }) => [name, hash]))
  const own = new Map((await files()).map((file) => [file.name, file]))
  const keepsAll = (await keepsForeign?.(db, names)) === true
  const { rows } = await sql<{ name: string; body: string }>`
    SELECT substr(proname, ${names.prefix.length + 1}::int) AS name, prosrc AS body FROM pg_proc
    WHERE pronamespace = to_regnamespace(${names.schema})
      AND proname = ANY (${Object.keys(foreign).map((name) => names.prefix + name)}::text[])`.execute(db)
  const isForeign = ({ name, body }: { readonly name: string; readonly body: string }) => {
    const [file, hash] = [own.get(name), recorded.get(name)]
    if (hash === FOREIGN) return true
    // Where PostgreSQL has parsed the body (BEGIN ATOMIC), it keeps no text of it.
    if (file !== undefined && body !== '' && withNames(file.text, names).includes(body)) return false
    if (hash !== undefined) return keepsAll && hash === file?.hash
    return keepsAll || body.includes(foreign[name] ?? '')
  }
  return new Set(rows.filter(isForeign).map(({ name }) => name))
}

/**
 * Functions of others that have the name of an installed function and another signature: to drop all
 * functions of the name would drop them. An installed function has the text of its file.
 * @returns such as `function auth.sign_out(uuid)`
 */
export async function listOverloads(
  db: QueryExecutorProvider,
  names: Names,
  files: FunctionFiles,
): Promise<readonly string[]> {
  const own = new Map((await files()).map(({ name, text }) => [names.prefix + name, withNames(text, names)]))
  const installed = (await listInstalledNames(db, names, FOREIGN)).map((name) => names.prefix + name)
  const { rows } = await sql<{ name: string; body: string; object: string }>`
    SELECT p.proname AS name, p.prosrc AS body, pg_describe_object('pg_proc'::regclass, p.oid, 0) AS object
    FROM pg_proc p WHERE p.pronamespace = to_regnamespace(${names.schema}) AND p.proname = ANY (${installed}::text[])
      AND EXISTS (SELECT FROM pg_proc o WHERE o.pronamespace = p.pronamespace AND o.proname = p.proname AND o.oid <> p.oid)
    ORDER BY object`.execute(db)
  // Where PostgreSQL has parsed the body (BEGIN ATOMIC), it keeps no text of it.
  const isOwn = (name: string, body: string) => body !== '' && own.get(name)?.includes(body) === true
  return rows.filter(({ name, body }) => !isOwn(name, body)).map(({ object }) => object)
}

async function hasTable(db: QueryExecutorProvider, names: Names): Promise<boolean> {
  const text = `"${names.schema}"."${migratorTable(names, 'trestle_functions')}"`
  const { rows } = await sql<{ exists: boolean }>`SELECT to_regclass(${text}) IS NOT NULL AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

/** `{1,4,0}` for `1.4.0` and for `1.4.0-rc.1`. */
function numbersOf(release: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`string_to_array(substring(${release} FROM '^[0-9]+(?:[.][0-9]+)*'), '.')::int[]`
}

export async function dropRecord(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TABLE IF EXISTS ${table(names)}`.execute(trx)
}

function table(names: Names) {
  return sql.id(names.schema, migratorTable(names, 'trestle_functions'))
}
