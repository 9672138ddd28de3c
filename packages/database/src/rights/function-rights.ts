import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isOwn } from '../migrations/namespace.ts'

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

/** A role, and the functions that it may call. */
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
