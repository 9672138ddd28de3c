import { localName, type Names } from '@trestle/migrations/migration.ts'
import pg from 'pg'

const DEPENDENT_OBJECTS_STILL_EXIST = '2BP01'
const VIOLATIONS: ReadonlySet<string> = new Set(['23503', '23505', '23514', '23P01'])

/**
 * Returns the name of the violated constraint that an error reports, as the migration wrote it. The prefix of `DB_NAMESPACE` is
 * removed, and so is the suffix `_<digits>`, which a sharded database adds. Returns `undefined` for other errors.
 */
export function violatedConstraint(error: unknown, names: Names): string | undefined {
  const constraint = reportedConstraint(error)
  return constraint?.startsWith(names.prefix) ? constraint.slice(names.prefix.length) : constraint
}

/** Whether an error reports one of these constraints. A prefixed name that is too long for PostgreSQL is shortened. */
export function violates(
  error: unknown,
  { prefix }: Pick<Names, 'prefix'>,
  ...constraints: readonly string[]
): boolean {
  const constraint = reportedConstraint(error)
  return constraints.some((name) => localName(prefix, name) === constraint)
}

/** The report of PostgreSQL about a failure of SQL that belongs to another program in the database. */
export interface ApplicationReport {
  readonly code: string
  readonly message: string
  readonly detail: string | undefined
  readonly hint: string | undefined
}

/** 23xxx: a constraint. P0001: `RAISE EXCEPTION` without its own code. PTnnn: `RAISE` with an HTTP status. */
const RAISED = /^(?:23\d{3}|P0001|PT[45]\d\d)$/

/**
 * Returns the report of a trigger or constraint of the application that refuses a statement. Returns `undefined` for other errors
 * and for errors of the service's own tables.
 */
export function reportOfApplication(error: unknown, { schema }: Pick<Names, 'schema'>): ApplicationReport | undefined {
  if (!(error instanceof pg.DatabaseError) || !RAISED.test(error.code ?? '')) return undefined
  const { code = '', message, detail, hint } = error
  return error.schema === schema ? undefined : { code, message, detail, hint }
}

/**
 * Returns the objects that depend on an object and because of which PostgreSQL has refused to drop it.
 * @returns sorted lines such as `view public.tokens depends on table auth.refresh_tokens`, or no lines for another error
 */
export function readDependents(error: unknown): readonly string[] {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error
  const isRefused = reason instanceof pg.DatabaseError && reason.code === DEPENDENT_OBJECTS_STILL_EXIST
  return isRefused ? (reason.detail ?? reason.message).split('\n').sort() : []
}

function reportedConstraint(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError) || !VIOLATIONS.has(error.code ?? '')) return undefined
  return error.constraint?.replace(/_\d+$/, '')
}
