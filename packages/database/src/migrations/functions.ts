import { type FunctionFile, type FunctionFiles, withNames } from '@trestle/migrations/functions.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { columns } from '../batches/columns.ts'
import { closeFunctions } from '../rights/function-rights.ts'
import { migratorTable } from './migrator-tables.ts'

/** The SQL functions of a service, one in each file, and their release. */
export interface ServiceFunctions {
  readonly files: FunctionFiles
  /** The version of the service: `1.4.0`. */
  readonly release: string
  /** Whether a start also replaces functions of its own release. True in development, where their files change. */
  readonly replacesOwnRelease: boolean
  /**
   * Functions that write with the rights of the caller, and that the service calls. If this is set, only the owner may call the
   * other functions that write, except SECURITY DEFINER functions: the role of the service may call these.
   */
  readonly invoker?: readonly string[] | undefined
}

/** How the functions of a release differ from those that are installed, by name. */
export interface FunctionChanges {
  /** The release whose functions are installed. Undefined: none are installed. */
  readonly installed: string | undefined
  /** Whether the installed release is later than this one. */
  readonly isLater: boolean
  readonly creates: readonly string[]
  readonly replaces: readonly string[]
  readonly drops: readonly string[]
}

interface InstalledFunction {
  readonly name: string
  readonly hash: string
  readonly release: string
  readonly isLater: boolean
}

/**
 * PostgreSQL cannot change a return type, or the name or default of a parameter; it cannot drop what other objects depend on.
 */
const [OTHER_SIGNATURE, DEPENDED_ON] = ['42P13', '2BP01']

/** Compares the files of a release with the functions that `trestle_functions` lists as installed. */
export async function compareFunctions(
  db: QueryExecutorProvider,
  names: Names,
  { files, release }: Pick<ServiceFunctions, 'files' | 'release'>,
): Promise<FunctionChanges> {
  const [own, installed] = [await files(), await listInstalled(db, names, release)]
  const hashes = new Map(installed.map(({ name, hash }) => [name, hash]))
  const ownNames = new Set(own.map(({ name }) => name))
  return {
    installed: installed[0]?.release,
    isLater: installed.some(({ isLater }) => isLater),
    creates: own.filter(({ name }) => !hashes.has(name)).map(({ name }) => name),
    replaces: own.filter(({ name, hash }) => hashes.has(name) && hashes.get(name) !== hash).map(({ name }) => name),
    drops: [...hashes.keys()].filter((name) => !ownNames.has(name)),
  }
}

/** Whether a release would create, replace or drop a function. */
export function hasChanges({ creates, replaces, drops }: FunctionChanges): boolean {
  return creates.length + replaces.length + drops.length > 0
}

/** Whether every function of a release is installed, whichever release its text is from. */
export async function areInstalled(db: QueryExecutorProvider, names: Names, files: FunctionFiles): Promise<boolean> {
  const installed = new Set(await listInstalledNames(db, names))
  return (await files()).every(({ name }) => installed.has(name))
}

/**
 * Installs functions of a release, drops those without a file, and validates all of them, in the transaction of the caller.
 * Functions may call each other, so all are created before any is validated.
 * @param which those that have changed, or all: somebody may have changed one by hand
 * @returns the names of the functions that were installed or dropped, and of those that were kept because a trigger or an
 * object of another namespace needs them
 * @throws Error if a function does not validate, or has another signature than in an earlier release
 */
export async function installFunctions(
  trx: Kysely<unknown>,
  names: Names,
  { functions, which }: { readonly functions: ServiceFunctions; readonly which: 'changed' | 'all' },
): Promise<{ readonly installed: readonly string[]; readonly kept: readonly string[] }> {
  const { files, release, invoker } = functions
  await createTable(trx, names)
  const { installed, creates, replaces, drops } = await compareFunctions(trx, names, functions)
  const changed = new Set([...creates, ...replaces])
  const chosen = (await files()).filter(({ name }) => which === 'all' || changed.has(name))
  const isReleased = installed !== undefined && installed !== release
  await createAll(trx, names, { files: chosen, isReleased })
  const kept = await dropAll(trx, names, drops)
  await validate(trx, names, await files())
  if (invoker) await closeFunctions(trx, names, invoker)
  await record(trx, names, functions)
  return { installed: [...chosen.map(({ name }) => name), ...drops.filter((name) => !kept.includes(name))], kept }
}

/** Creates or replaces functions, unvalidated. @throws Error when a file lacks its function, or changes a released signature */
export async function createAll(
  trx: Kysely<unknown>,
  names: Names,
  { files, isReleased }: { readonly files: readonly FunctionFile[]; readonly isReleased: boolean },
): Promise<void> {
  await sql`SET LOCAL check_function_bodies = off`.execute(trx)
  for (const file of files) {
    await create(trx, names, { file, isReleased }).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError ? new Error(`${file.name}: ${error.message}`, { cause: error }) : error
    })
  }
}

/** Drops every installed function. @returns the names of those that were kept because another object needs them */
export async function dropFunctions(trx: Kysely<unknown>, names: Names): Promise<readonly string[]> {
  const kept = await dropAll(trx, names, await listInstalledNames(trx, names))
  await sql`DROP TABLE IF EXISTS ${table(names)}`.execute(trx)
  return kept
}

async function dropAll(trx: Kysely<unknown>, names: Names, functions: readonly string[]): Promise<readonly string[]> {
  const kept: string[] = []
  for (const name of functions) if (!(await dropFunction(trx, names, name))) kept.push(name)
  return kept
}

/**
 * PostgreSQL replaces a function only if the signature is the same. With another signature, the function of an earlier release
 * would stay beside the new one or block it, and processes of that release still call it.
 */
async function create(
  trx: Kysely<unknown>,
  names: Names,
  { file, isReleased }: { readonly file: FunctionFile; readonly isReleased: boolean },
): Promise<void> {
  const before = await findFunctions(trx, names, file.name)
  const isRefused = await isRefusedWith(OTHER_SIGNATURE, trx, withNames(file.text, names))
  const after = await findFunctions(trx, names, file.name)
  if (after.length === 0) throw new Error(`${file.name}.sql creates no function ${file.name}`)
  if (!isRefused && after.length === 1) return
  if (isReleased)
    throw new Error(`${file.name} has another signature than in the release before: give the function a new name`)
  for (const signature of before) await sql`DROP FUNCTION ${sql.raw(signature)}`.execute(trx)
  if (isRefused) await sql.raw(withNames(file.text, names)).execute(trx)
}

/** @returns whether the function is gone: no other object needs it */
async function dropFunction(trx: Kysely<unknown>, names: Names, name: string): Promise<boolean> {
  let isGone = true
  for (const signature of await findFunctions(trx, names, name)) {
    if (await isRefusedWith(DEPENDED_ON, trx, `DROP FUNCTION ${signature}`)) isGone = false
  }
  return isGone
}

/** Runs a statement in a savepoint. @returns whether it was refused with the given SQLSTATE. Otherwise it has run */
async function isRefusedWith(code: string, trx: Kysely<unknown>, statement: string): Promise<boolean> {
  await sql`SAVEPOINT function`.execute(trx)
  try {
    await sql.raw(statement).execute(trx)
    await sql`RELEASE SAVEPOINT function`.execute(trx)
    return false
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === code)) throw error
    await sql`ROLLBACK TO SAVEPOINT function`.execute(trx)
    return true
  }
}

/** Every function of a name, as `"auth"."app_refresh_session"(uuid, text)`. */
async function findFunctions(db: Kysely<unknown>, { schema, prefix }: Names, name: string): Promise<string[]> {
  const { rows } = await sql<{ signature: string }>`
    SELECT format('%I.%I(%s)', ${schema}::text, proname, pg_get_function_identity_arguments(oid)) AS signature FROM pg_proc
    WHERE pronamespace = ${schema}::regnamespace AND proname = ${prefix + name} ORDER BY oid`.execute(db)
  return rows.map(({ signature }) => signature)
}

/** Makes PostgreSQL check the bodies, once everything that they name exists. */
async function validate(
  trx: Kysely<unknown>,
  { schema, prefix }: Names,
  files: readonly FunctionFile[],
): Promise<void> {
  await sql`SET LOCAL check_function_bodies = on`.execute(trx)
  const { rows } = await sql<{ oid: number; name: string; validator: string }>`
    SELECT p.oid, p.proname AS name, l.lanvalidator::regproc::text AS validator
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = ${schema}::regnamespace AND p.proname = ANY (${files.map(({ name }) => prefix + name)}::text[])
    ORDER BY p.proname`.execute(trx)
  for (const { oid, name, validator } of rows) {
    await sql`SELECT ${sql.raw(validator)}(${oid}::oid)`.execute(trx).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError ? new Error(`${name}: ${error.message}`, { cause: error }) : error
    })
  }
}

async function createTable(trx: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS ${table(names)} (
      name text CONSTRAINT ${names.local('trestle_functions_pkey')} PRIMARY KEY, hash text NOT NULL, release text NOT NULL)`.execute(
    trx,
  )
}

async function record(trx: Kysely<unknown>, names: Names, { files, release }: ServiceFunctions): Promise<void> {
  const own = await files()
  await sql`DELETE FROM ${table(names)}`.execute(trx)
  await sql`
    INSERT INTO ${table(names)} (name, hash, release)
    SELECT name, hash, ${release} FROM unnest(${columns(own, { name: 'text', hash: 'text' })}) AS own (name, hash)`.execute(
    trx,
  )
}

/** The installed functions. Empty in a database where none was ever installed. */
async function listInstalled(
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

async function listInstalledNames(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  if (!(await hasTable(db, names))) return []
  const { rows } = await sql<{ name: string }>`SELECT name FROM ${table(names)}`.execute(db)
  return rows.map(({ name }) => name)
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

function table(names: Names) {
  return sql.id(names.schema, migratorTable(names, 'trestle_functions'))
}
