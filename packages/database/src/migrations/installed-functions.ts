import { type FunctionFiles, withNames } from '@trestle/migrations/functions.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { columns } from '../batches/columns.ts'
import { migratorTable } from '../names.ts'

export interface ReleasedFunctions {
  readonly files: FunctionFiles
  /** The version of the service, such as `1.4.0`. */
  readonly release: string
  /**
   * Functions that another program may have created in the schema, by name. The value is text that the body of a usable function
   * contains. A usable function is kept, and any other is replaced.
   */
  readonly foreign?: Readonly<Record<string, string>> | undefined
  /** Returns whether every foreign function is usable, whatever its body. Its users had it before this service was installed. */
  readonly keepsForeign?: ((db: QueryExecutorProvider, names: Names) => Promise<boolean>) | undefined
}

export interface InstalledFunction {
  readonly name: string
  readonly hash: string
  readonly release: string
  /** Whether the release of the function is later than the running release. */
  readonly isLater: boolean
}

/** The hash in `trestle_functions` that marks a function of another program. Such a function is neither replaced nor dropped. */
export const FOREIGN = 'foreign'

/** Creates the table `trestle_functions` if it does not exist. */
export async function createRecord(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS ${table(names)} (
      name text CONSTRAINT ${names.local('trestle_functions_pkey')} PRIMARY KEY, hash text NOT NULL, release text NOT NULL)`.execute(
    trx,
  )
}

/** Records the functions of a release as installed, and removes all other records. */
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

/** Returns the installed functions. The list is empty if no function was ever installed in the database. */
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
 * Returns the names of the installed functions.
 * @param except leaves out functions with this hash
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
 * Returns the usable functions in the schema that another program created. Some are recorded as such, and others existed before
 * this service was installed. If the record of a function of this service is lost, the function is recognized by the text of its
 * file. If all foreign functions are kept, another program may also have replaced a function of this service.
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
    WHERE pronamespace = to_regnamespace(format('%I', ${names.schema}::text))
      AND proname = ANY (${Object.keys(foreign).map((name) => names.prefix + name)}::text[])`.execute(db)
  const isForeign = ({ name, body }: { readonly name: string; readonly body: string }) => {
    const [file, hash] = [own.get(name), recorded.get(name)]
    if (hash === FOREIGN) return true
    // For a parsed body (BEGIN ATOMIC), PostgreSQL stores no text.
    if (file !== undefined && body !== '' && withNames(file.text, names).includes(body)) return false
    if (hash !== undefined) return keepsAll && hash === file?.hash
    return keepsAll || body.includes(foreign[name] ?? '')
  }
  return new Set(rows.filter(isForeign).map(({ name }) => name))
}

/**
 * Returns functions of other programs with the name of an installed function and another signature. Dropping all functions with
 * the name would drop these too. An installed function is recognized by the text of its file.
 * @returns texts such as `function auth.sign_out(uuid)`
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
    FROM pg_proc p WHERE p.pronamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND p.proname = ANY (${installed}::text[])
      AND EXISTS (SELECT FROM pg_proc o WHERE o.pronamespace = p.pronamespace AND o.proname = p.proname AND o.oid <> p.oid)
    ORDER BY object`.execute(db)
  // For a parsed body (BEGIN ATOMIC), PostgreSQL stores no text.
  const isOwn = (name: string, body: string) => body !== '' && own.get(name)?.includes(body) === true
  return rows.filter(({ name, body }) => !isOwn(name, body)).map(({ object }) => object)
}

async function hasTable(db: QueryExecutorProvider, names: Names): Promise<boolean> {
  const text = `"${names.schema}"."${migratorTable(names, 'trestle_functions')}"`
  const { rows } = await sql<{ exists: boolean }>`SELECT to_regclass(${text}) IS NOT NULL AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

/** Returns `{1,4,0}` for `1.4.0` and for `1.4.0-rc.1`. */
function numbersOf(release: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`string_to_array(substring(${release} FROM '^[0-9]+(?:[.][0-9]+)*'), '.')::int[]`
}

export async function dropRecord(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TABLE IF EXISTS ${table(names)}`.execute(trx)
}

function table(names: Names) {
  return sql.id(names.schema, migratorTable(names, 'trestle_functions'))
}
