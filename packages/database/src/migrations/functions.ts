import { type FunctionFile, type FunctionFiles, withNames } from '@trestle/migrations/functions.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import pg from 'pg'
import { closeFunctions } from '../rights/function-rights.ts'
import {
  createRecord,
  dropRecord,
  FOREIGN,
  findForeign,
  listInstalled,
  listInstalledNames,
  type ReleasedFunctions,
  recordInstalled,
} from './installed-functions.ts'

/** The SQL functions of a service, one per file, and their release. */
export interface ServiceFunctions extends ReleasedFunctions {
  /** Whether a start also replaces functions of its own release. `true` in development, where function files change. */
  readonly replacesOwnRelease: boolean
  /**
   * Functions that write with the rights of the caller and that the service calls. If set, only the owner may call other such
   * functions. The role of the service may still call SECURITY DEFINER functions.
   */
  readonly invoker?: readonly string[] | undefined
}

export interface FunctionChanges {
  /** The release of the installed functions. `undefined` if none are installed. */
  readonly installed: string | undefined
  /** Whether the installed release is later than this release. */
  readonly isLater: boolean
  readonly creates: readonly string[]
  readonly replaces: readonly string[]
  readonly drops: readonly string[]
}

/** PostgreSQL refuses to change a return type or a parameter's name or default, and to drop what others depend on. */
const [OTHER_SIGNATURE, DEPENDED_ON] = ['42P13', '2BP01']

/** Compares the function files of a release with the installed functions in `trestle_functions`. */
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
    replaces: own
      .filter(({ name, hash }) => ![undefined, FOREIGN, hash].includes(hashes.get(name)))
      .map(({ name }) => name),
    drops: installed.filter(({ name, hash }) => !ownNames.has(name) && hash !== FOREIGN).map(({ name }) => name),
  }
}

export function hasChanges({ creates, replaces, drops }: FunctionChanges): boolean {
  return creates.length + replaces.length + drops.length > 0
}

/** Returns whether every function of a release is installed, in the version of any release. */
export async function areInstalled(db: QueryExecutorProvider, names: Names, files: FunctionFiles): Promise<boolean> {
  const installed = new Set(await listInstalledNames(db, names))
  return (await files()).every(({ name }) => installed.has(name))
}

/**
 * Installs functions of a release, drops functions without a file, and validates the service's own functions, in the database
 * transaction of the caller. Functions may call each other, so all are created before any is validated.
 * @param which the functions that have changed, or all functions, because a function may have been changed by SQL
 * @returns the names of installed and dropped functions, and of functions that were kept because a trigger or an object of
 * another namespace needs them
 * @throws Error if a function is invalid, or has another signature than in an earlier release
 */
export async function installFunctions(
  trx: Kysely<unknown>,
  names: Names,
  { functions, which }: { readonly functions: ServiceFunctions; readonly which: 'changed' | 'all' },
): Promise<{ readonly installed: readonly string[]; readonly kept: readonly string[] }> {
  const { files, release, invoker } = functions
  await createRecord(trx, names)
  const { installed, creates, replaces, drops } = await compareFunctions(trx, names, functions)
  const foreign = await findForeign(trx, names, functions)
  const gone = (await listInstalled(trx, names, release)).filter(
    ({ name, hash }) => hash === FOREIGN && !foreign.has(name),
  )
  const changed = new Set([...creates, ...replaces, ...gone.map(({ name }) => name)])
  const own = (await files()).filter(({ name }) => !foreign.has(name))
  const chosen = own.filter(({ name }) => which === 'all' || changed.has(name))
  const isReleased = installed !== undefined && installed !== release
  await createAll(trx, names, { files: chosen, isReleased, isOwn: (name) => !creates.includes(name) })
  const kept = await dropAll(trx, names, drops)
  // Validate only own functions, because PostgreSQL validates a function only for a role that may call it.
  await validate(trx, names, own)
  if (invoker) await closeFunctions(trx, names, invoker)
  await recordInstalled(trx, names, { functions, foreign })
  return { installed: [...chosen.map(({ name }) => name), ...drops.filter((name) => !kept.includes(name))], kept }
}

interface Creation {
  readonly files: readonly FunctionFile[]
  /** Whether another release has installed functions. */
  readonly isReleased: boolean
  /**
   * Returns whether a function with this name is recorded as installed. Other functions in the schema belong to the application
   * and are never dropped.
   */
  readonly isOwn: (name: string) => boolean
}

/**
 * Creates or replaces functions without validating them.
 * @throws Error if a file lacks its function or changes a released signature, or if the application has a function with the same
 * name
 */
export async function createAll(
  trx: Kysely<unknown>,
  names: Names,
  { files, isReleased, isOwn }: Creation,
): Promise<void> {
  await sql`SET LOCAL check_function_bodies = off`.execute(trx)
  for (const file of files) {
    await create(trx, names, { file, isReleased, isOwn: isOwn(file.name) }).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError ? new Error(`${file.name}: ${error.message}`, { cause: error }) : error
    })
  }
}

/** Drops every installed function. @returns the names of functions that other objects need, which remain */
export async function dropFunctions(trx: Kysely<unknown>, names: Names): Promise<readonly string[]> {
  const own = await listInstalledNames(trx, names, FOREIGN)
  const kept = await dropAll(trx, names, own)
  await dropRecord(trx, names)
  return kept
}

async function dropAll(trx: Kysely<unknown>, names: Names, functions: readonly string[]): Promise<readonly string[]> {
  const kept: string[] = []
  for (const name of functions) if (!(await dropFunction(trx, names, name))) kept.push(name)
  return kept
}

/**
 * Creates or replaces a function. PostgreSQL replaces a function only if the signature is the same. With another signature, the
 * old function would remain in addition to the new one, or block it. Processes of the earlier release still call the old
 * function.
 */
async function create(
  trx: Kysely<unknown>,
  names: Names,
  { file, isReleased, isOwn }: Pick<Creation, 'isReleased'> & { readonly file: FunctionFile; readonly isOwn: boolean },
): Promise<void> {
  const before = await findFunctions(trx, names, file.name)
  const isRefused = await isRefusedWith(OTHER_SIGNATURE, trx, withNames(file.text, names))
  const after = await findFunctions(trx, names, file.name)
  if (after.length === 0) throw new Error(`${file.name}.sql creates no function ${file.name}`)
  if (!isRefused && (after.length === 1 || after.length === before.length)) return
  if (!isOwn)
    throw new Error(
      `${before.join(' and ')} has the name of a function of this service and another signature: rename it, or drop it`,
    )
  if (isReleased)
    throw new Error(`${file.name} has another signature than in the release before: give the function a new name`)
  for (const signature of before) await sql`DROP FUNCTION ${sql.raw(signature)}`.execute(trx)
  if (isRefused) await sql.raw(withNames(file.text, names)).execute(trx)
}

/** @returns `false` if another object needs the function, so it remains */
async function dropFunction(trx: Kysely<unknown>, names: Names, name: string): Promise<boolean> {
  let isGone = true
  for (const signature of await findFunctions(trx, names, name)) {
    if (await isRefusedWith(DEPENDED_ON, trx, `DROP FUNCTION ${signature}`)) isGone = false
  }
  return isGone
}

/** Runs a statement in a savepoint. @returns `true` if it was refused with the SQLSTATE, `false` if it has run */
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

/** Returns every function with a name, as `"auth"."app_refresh_session"(uuid, text)`. */
async function findFunctions(db: Kysely<unknown>, { schema, prefix }: Names, name: string): Promise<string[]> {
  const { rows } = await sql<{ signature: string }>`
    SELECT format('%I.%I(%s)', ${schema}::text, proname, pg_get_function_identity_arguments(oid)) AS signature FROM pg_proc
    WHERE pronamespace = format('%I', ${schema}::text)::regnamespace AND proname = ${prefix + name} ORDER BY oid`.execute(
    db,
  )
  return rows.map(({ signature }) => signature)
}

/** Makes PostgreSQL check the function bodies, after everything that they reference exists. */
async function validate(
  trx: Kysely<unknown>,
  { schema, prefix }: Names,
  files: readonly FunctionFile[],
): Promise<void> {
  await sql`SET LOCAL check_function_bodies = on`.execute(trx)
  const { rows } = await sql<{ oid: number; name: string; validator: string }>`
    SELECT p.oid, p.proname AS name, l.lanvalidator::regproc::text AS validator
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = format('%I', ${schema}::text)::regnamespace AND p.proname = ANY (${files.map(({ name }) => prefix + name)}::text[])
    ORDER BY p.proname`.execute(trx)
  for (const { oid, name, validator } of rows) {
    await sql`SELECT ${sql.raw(validator)}(${oid}::oid)`.execute(trx).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError ? new Error(`${name}: ${error.message}`, { cause: error }) : error
    })
  }
}
