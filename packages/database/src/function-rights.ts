import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isOwn } from './namespace.ts'

/** Functions that write, by the rights that they run with. No other function that may write can be called from outside. */
export interface CallableFunctions {
  /** With those of their owner, and a search path of their own. */
  readonly definer: readonly string[]
  /** With those of the caller. */
  readonly invoker: readonly string[]
}

/**
 * Nothing that a caller could put into a schema or among its temporary tables is found before what PostgreSQL brings. Functions
 * name all else in full.
 */
const SEARCH_PATH = 'search_path=pg_catalog, pg_temp'

interface FunctionRow {
  /** With the types of its arguments. */
  readonly signature: string
  readonly name: string
  /** Whether it is declared to do no more than read. */
  readonly isReading: boolean
  readonly isDefiner: boolean
  readonly hasPath: boolean
}

/**
 * Gives functions the rights that they run with, and closes those that may write to PUBLIC. It runs after the migrations each
 * time: CREATE OR REPLACE makes a function one with the caller's rights again.
 */
export async function secureFunctions(
  db: Kysely<unknown>,
  names: Names,
  { definer, invoker }: CallableFunctions,
): Promise<void> {
  const [definers, invokers] = [prefixed(names, definer), prefixed(names, invoker)]
  const functions = await listFunctions(db, names)
  for (const { signature, name, isDefiner, hasPath } of functions) {
    const should = definers.has(name)
    if (should && !(isDefiner && hasPath)) {
      await sql`ALTER FUNCTION ${sql.raw(signature)} SECURITY DEFINER SET search_path = pg_catalog, pg_temp`.execute(db)
    }
    if (!should && (isDefiner || hasPath)) {
      await sql`ALTER FUNCTION ${sql.raw(signature)} SECURITY INVOKER RESET search_path`.execute(db)
    }
  }
  const closed = functions.filter(({ name, isReading }) => !isReading && !invokers.has(name))
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM PUBLIC`.execute(db)
}

/** Takes back what `secureFunctions` did, for a version that does not know of it. Its own start gives its rights to tables. */
export async function releaseFunctions(db: Kysely<unknown>, names: Names): Promise<void> {
  const functions = await listFunctions(db, names)
  for (const { signature } of functions.filter(({ isDefiner, hasPath }) => isDefiner || hasPath)) {
    await sql`ALTER FUNCTION ${sql.raw(signature)} SECURITY INVOKER RESET search_path`.execute(db)
  }
  if (functions.length > 0) await sql`GRANT EXECUTE ON FUNCTION ${listOf(functions)} TO PUBLIC`.execute(db)
}

/** Closes functions that may write to PUBLIC, but for those named. */
export async function closeFunctions(db: Kysely<unknown>, names: Names, invoker: readonly string[]): Promise<void> {
  const open = prefixed(names, invoker)
  const closed = (await listFunctions(db, names)).filter(({ name, isReading }) => !isReading && !open.has(name))
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM PUBLIC`.execute(db)
}

/** Lets a role call those that run with the rights of their owner and those named, and no others that may write. */
export async function grantFunctions(
  db: Kysely<unknown>,
  { names, role, invoker }: { readonly names: Names; readonly role: string; readonly invoker: readonly string[] },
): Promise<void> {
  const named = prefixed(names, invoker)
  const all = await listFunctions(db, names)
  const isCalled = ({ name, isDefiner }: FunctionRow) => isDefiner || named.has(name)
  const [open, closed] = [all.filter(isCalled), all.filter((row) => !row.isReading && !isCalled(row))]
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM ${sql.id(role)}`.execute(db)
  if (open.length > 0) await sql`GRANT EXECUTE ON FUNCTION ${listOf(open)} TO ${sql.id(role)}`.execute(db)
}

async function listFunctions(db: Kysely<unknown>, names: Names): Promise<readonly FunctionRow[]> {
  const { rows } = await sql<FunctionRow>`
    SELECT format('%I.%I(%s)', ${names.schema}::text, proname, pg_get_function_identity_arguments(oid)) AS signature,
      proname AS name, provolatile <> 'v' AS "isReading", prosecdef AS "isDefiner",
      coalesce(proconfig, '{}') @> ARRAY[${SEARCH_PATH}] AS "hasPath"
    FROM pg_proc WHERE pronamespace = ${names.schema}::regnamespace AND prokind = 'f' AND ${isOwn(sql.ref('proname'), names)}
    ORDER BY proname, oid`.execute(db)
  return rows
}

function prefixed({ prefix }: Names, functions: readonly string[]): ReadonlySet<string> {
  return new Set(functions.map((name) => prefix + name))
}

function listOf(functions: readonly Pick<FunctionRow, 'signature'>[]): RawBuilder<unknown> {
  return sql.join(functions.map(({ signature }) => sql.raw(signature)))
}
