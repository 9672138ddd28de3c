import type { Kysely, QueryExecutorProvider } from 'kysely'
import type { Rows } from './statement-query.ts'

// PostgreSQL knows no types of TypeScript: the caller states them. A check of each row would cost every hot request time. The
// tests of each service compare its tables with the types that its `database.ts` states.

/** The rows of a statement, with the type that its query states. */
export function statedRows<Row>(rows: Promise<Rows>): Promise<Row[]> {
  return rows as Promise<Row[]>
}

/** A Kysely of any tables, with those that the caller states. */
export function statedTables<Tables>(db: QueryExecutorProvider): Kysely<Tables> {
  return db as Kysely<Tables>
}
