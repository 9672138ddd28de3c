import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'

/** The table of the chain that the baseline replaces. One of supabase/auth has the same name and another column. */
export const OLD_CHAIN = 'schema_migrations'

/** @throws Error if the database is one of the old chain */
export async function refuseOldChain(db: Kysely<unknown>, names: Names): Promise<void> {
  if (await hasOldChain(db, names)) {
    throw new Error('the migrations of this database were replaced by a baseline: run migrate rebase')
  }
}

/** Whether the database has the tables of the old chain. */
export async function hasOldChain(db: Kysely<unknown>, { schema, prefix }: Names): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM information_schema.columns
    WHERE table_schema = ${schema} AND table_name = ${prefix + OLD_CHAIN} AND column_name = 'timestamp'`.execute(db)
  return rows.length > 0
}
