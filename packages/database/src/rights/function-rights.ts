import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { FOREIGN, listInstalledNames } from '../migrations/installed-functions.ts'
import { isOwn } from '../names.ts'

interface FunctionRow {
  /** With the types of its arguments. */
  readonly signature: string
  readonly name: string
  /** Whether it is declared to only read (STABLE or IMMUTABLE). */
  readonly isReading: boolean
  /** Whether it runs with the rights of its owner (SECURITY DEFINER). */
  readonly isDefiner: boolean
}

/** Takes the right to call functions that may write from PUBLIC, except for the named ones. */
export async function closeFunctions(db: Kysely<unknown>, names: Names, invoker: readonly string[]): Promise<void> {
  const open = prefixed(names, invoker)
  const closed = (await listFunctions(db, names)).filter(({ name, isReading }) => !isReading && !open.has(name))
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM PUBLIC`.execute(db)
}

interface FunctionGrants {
  readonly names: Names
  readonly role: string
  /** Called with the rights of the role. */
  readonly invoker: readonly string[]
  /** Not for this role, although they run with the rights of their owner. */
  readonly withheld: readonly string[]
}

/**
 * Lets a role call functions that may write: the functions of `invoker`, and the functions that run with the rights of their
 * owner, except the functions of `withheld`. The role may call no other function that may write.
 */
export async function grantFunctions(
  db: Kysely<unknown>,
  { names, role, invoker, withheld }: FunctionGrants,
): Promise<void> {
  const [named, others] = [prefixed(names, invoker), prefixed(names, withheld)]
  const all = await listFunctions(db, names)
  const isCalled = ({ name, isDefiner }: FunctionRow) => (isDefiner && !others.has(name)) || named.has(name)
  const [open, closed] = [all.filter(isCalled), all.filter((row) => !row.isReading && !isCalled(row))]
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM ${sql.id(role)}`.execute(db)
  if (open.length > 0) await sql`GRANT EXECUTE ON FUNCTION ${listOf(open)} TO ${sql.id(role)}`.execute(db)
}

async function listFunctions(db: Kysely<unknown>, names: Names): Promise<readonly FunctionRow[]> {
  const { rows } = await sql<FunctionRow>`
    SELECT format('%I.%I(%s)', ${names.schema}::text, proname, pg_get_function_identity_arguments(oid)) AS signature,
      proname AS name, provolatile <> 'v' AS "isReading", prosecdef AS "isDefiner"
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

/** Roles of other programs in the database whose own SQL calls functions of the service. */
export interface Callers {
  /** Their names. A role that does not exist is left out. */
  readonly roles: readonly string[]
  /** The functions, which have no arguments. Names are without the prefix of DB_NAMESPACE. */
  readonly functions: readonly string[]
  /**
   * Whether the rights on the schema, and on functions of other programs, are the operator's affair: they had
   * them before they had this service.
   */
  readonly keepsRights?: ((db: QueryExecutorProvider, names: Names) => Promise<boolean>) | undefined
}

/**
 * Lets the roles that exist call the functions. They need the right to use the schema, which gives them no right on a table.
 * Functions of another owner keep their rights, and so does a function of another program that the role may call already.
 */
export async function grantToCallers(db: Kysely<unknown>, names: Names, callers: Callers): Promise<void> {
  const { rows: roles } = await sql<{ name: string; mayUse: boolean }>`
    SELECT rolname AS name, has_schema_privilege(oid, ${names.schema}, 'USAGE') AS "mayUse" FROM pg_roles
    WHERE rolname = ANY (${callers.roles}::text[]) ORDER BY rolname`.execute(db)
  const foreign = await listForeignNames(db, names)
  const keepsRights = (await callers.keepsRights?.(db, names)) === true
  const { rows: functions } = await sql<{ name: string; callers: readonly string[] }>`
    SELECT proname AS name, ARRAY(
      SELECT rolname::text FROM pg_roles
      WHERE rolname = ANY (${callers.roles}::text[]) AND has_function_privilege(oid, p.oid, 'EXECUTE')) AS callers
    FROM pg_proc p
    WHERE pronamespace = ${names.schema}::regnamespace AND pronargs = 0 AND pg_has_role(proowner, 'USAGE')
      AND proname = ANY (${callers.functions.map((name) => names.prefix + name)}::text[]) ORDER BY proname`.execute(db)
  for (const { name, mayUse } of roles) {
    const to = sql.id(name)
    // The owner of the schema has let the role in already, and the service may not have the right to do so.
    if (!mayUse && !keepsRights) await sql`GRANT USAGE ON SCHEMA ${sql.id(names.schema)} TO ${to}`.execute(db)
    for (const each of functions) {
      if (foreign.has(each.name) && (keepsRights || each.callers.includes(name))) continue
      await sql`GRANT EXECUTE ON FUNCTION ${sql.id(names.schema, each.name)}() TO ${to}`.execute(db)
    }
  }
}

async function listForeignNames(db: Kysely<unknown>, names: Names): Promise<ReadonlySet<string>> {
  const own = new Set(await listInstalledNames(db, names, FOREIGN))
  const installed = await listInstalledNames(db, names)
  return new Set(installed.filter((name) => !own.has(name)).map((name) => names.prefix + name))
}

/** Whether a right of a comparison (`right auth.uid() to anon`) is one that callers are given where their roles exist. */
export function isRightOfCallers(object: string, { schema, prefix }: Names, { roles, functions }: Callers): boolean {
  const places = ['the schema', ...functions.map((name) => `${schema}.${prefix}${name}()`)]
  return roles.some((role) => places.some((place) => object === `right ${place} to ${role}`))
}
