import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { FOREIGN, listInstalledNames } from '../migrations/installed-functions.ts'
import { isOfExtension, isOwn } from '../names.ts'

interface FunctionRow {
  /** The name with the types of the arguments. */
  readonly signature: string
  readonly name: string
  /** Whether the function is declared as `STABLE` or `IMMUTABLE` and so only reads. */
  readonly isReading: boolean
  /** Whether the function runs with the rights of its owner (`SECURITY DEFINER`). */
  readonly isDefiner: boolean
}

/** Revokes from `PUBLIC` the right to call functions that may write, except for the functions in `invoker`. */
export async function closeFunctions(db: Kysely<unknown>, names: Names, invoker: readonly string[]): Promise<void> {
  const open = prefixed(names, invoker)
  const closed = (await listFunctions(db, names)).filter(({ name, isReading }) => !isReading && !open.has(name))
  if (closed.length > 0) await sql`REVOKE EXECUTE ON FUNCTION ${listOf(closed)} FROM PUBLIC`.execute(db)
}

interface FunctionGrants {
  readonly names: Names
  readonly role: string
  /** The functions that the role may call and that run with the rights of the role. */
  readonly invoker: readonly string[]
  /** The functions that this role may not call, although they run with the rights of their owner. */
  readonly withheld: readonly string[]
}

/**
 * Lets a role call these functions that may write: the functions in `invoker`, and functions that run with the rights of their
 * owner, except the functions in `withheld`. The role may call no other function that may write.
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
    FROM pg_proc WHERE pronamespace = format('%I', ${names.schema}::text)::regnamespace AND prokind = 'f' AND ${isOwn(sql.ref('proname'), names)}
      AND NOT ${isOfExtension('pg_proc', sql.ref('oid'))}
    ORDER BY proname, oid`.execute(db)
  return rows
}

function prefixed({ prefix }: Names, functions: readonly string[]): ReadonlySet<string> {
  return new Set(functions.map((name) => prefix + name))
}

function listOf(functions: readonly Pick<FunctionRow, 'signature'>[]): RawBuilder<unknown> {
  return sql.join(functions.map(({ signature }) => sql.raw(signature)))
}

/** The roles of other programs in the database whose SQL calls functions of the service. */
export interface Callers {
  /** The names of the roles. Roles that do not exist are skipped. */
  readonly roles: readonly string[]
  /** The names of the functions, without the prefix of `DB_NAMESPACE`. The functions have no arguments. */
  readonly functions: readonly string[]
  /**
   * Returns whether the operator manages the rights on the schema and on functions of other programs. This is the case if these
   * rights existed before the database had this service.
   */
  readonly keepsRights?: ((db: QueryExecutorProvider, names: Names) => Promise<boolean>) | undefined
}

/**
 * Lets existing roles call the functions and use the schema, which gives them no right on a table. Leaves functions of another
 * owner unchanged, and functions of another program that the role may already call.
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
    WHERE pronamespace = format('%I', ${names.schema}::text)::regnamespace AND pronargs = 0 AND pg_has_role(proowner, 'USAGE')
      AND proname = ANY (${callers.functions.map((name) => names.prefix + name)}::text[]) ORDER BY proname`.execute(db)
  for (const { name, mayUse } of roles) {
    const to = sql.id(name)
    // The owner of the schema may have granted the right already. The service may not be allowed to grant it.
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

/** Whether a right in a comparison (`right auth.uid() to anon`) is one that `grantToCallers` grants if the role exists. */
export function isRightOfCallers(object: string, { schema, prefix }: Names, { roles, functions }: Callers): boolean {
  const places = ['the schema', ...functions.map((name) => `${schema}.${prefix}${name}()`)]
  return roles.some((role) => places.some((place) => object === `right ${place} to ${role}`))
}
