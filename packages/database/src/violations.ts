import type { Names } from '@trestle/migrations/migration.ts'
import pg from 'pg'

const VIOLATIONS: ReadonlySet<string> = new Set(['23503', '23505', '23514', '23P01'])

/**
 * The name of the constraint that an error reports as violated, as the migration wrote it: without the prefix of
 * DB_NAMESPACE and without a trailing `_<digits>` (which a database spread over shards adds). Undefined for other errors.
 */
export function violatedConstraint(error: unknown, names: Names): string | undefined {
  if (!(error instanceof pg.DatabaseError) || !VIOLATIONS.has(error.code ?? '') || !error.constraint) return undefined
  const name = error.constraint.startsWith(names.prefix)
    ? error.constraint.slice(names.prefix.length)
    : error.constraint
  return name.replace(/_\d+$/, '')
}
