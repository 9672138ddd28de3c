import { localName, type Names } from '@trestle/migrations/migration.ts'
import pg from 'pg'

const VIOLATIONS: ReadonlySet<string> = new Set(['23503', '23505', '23514', '23P01'])

/**
 * The name of the constraint that an error reports as violated, as the migration wrote it: without the prefix of DB_NAMESPACE,
 * and without `_<digits>` at its end, which a sharded database adds. Undefined for other errors.
 */
export function violatedConstraint(error: unknown, names: Names): string | undefined {
  const constraint = reportedConstraint(error)
  return constraint?.startsWith(names.prefix) ? constraint.slice(names.prefix.length) : constraint
}

/** Whether an error reports one of these constraints as violated. With the prefix, a name may be too long for PostgreSQL. */
export function violates(
  error: unknown,
  { prefix }: Pick<Names, 'prefix'>,
  ...constraints: readonly string[]
): boolean {
  const constraint = reportedConstraint(error)
  return constraints.some((name) => localName(prefix, name) === constraint)
}

function reportedConstraint(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError) || !VIOLATIONS.has(error.code ?? '')) return undefined
  return error.constraint?.replace(/_\d+$/, '')
}
