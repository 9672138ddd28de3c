import { type Kysely, sql } from 'kysely'
import { dropSchema } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { READER } from '../copy/copy-audit-log.ts'
import { COPIED_FLOWS, COPIED_PROVIDERS, UNCOPIED_SESSIONS } from '../copy/copy-live-rows.ts'
import { BEGUN_SESSIONS } from '../switch/tokens-without-session.ts'
import { COPIED_CODES } from '../upstream-codes.ts'
import { countRows, SERVED, UNSERVED } from '../upstream-tables.ts'

/** The tables that an adoption makes in the schema where the tables of supabase/auth are kept. */
const RECORD_TABLES = [
  'adoption',
  COPIED_CODES,
  COPIED_FLOWS,
  COPIED_PROVIDERS,
  UNCOPIED_SESSIONS,
  BEGUN_SESSIONS,
] as const

/**
 * Drops the record of an adoption with its schema, and tables of supabase/auth that are still there, as `dropSchema` does.
 * @param replaced the tables of supabase/auth
 * @throws DatabaseError (2BP01) where something else is in the schema, or something else depends on it
 */
export async function dropKept(
  trx: Kysely<unknown>,
  { kept }: Pick<AdoptionPlaces, 'kept'>,
  replaced: readonly string[],
): Promise<void> {
  await dropSchema(trx, kept, { tables: [...replaced, ...RECORD_TABLES], functions: [`${READER}(text)`] })
}

/** How many rows each table of supabase/auth has that was moved away, by its name with the schema. */
export async function countKept(
  db: Kysely<unknown>,
  { names, kept }: AdoptionPlaces,
  replaced: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = await countRows(db, { names: { ...names, schema: kept, id: (name) => sql.id(kept, name) } }, replaced)
  return new Map([...counts].map(([table, count]) => [`${kept}.${table}`, count]))
}

/**
 * Drops the tables of supabase/auth that were moved away, as `dropKept` does. Foreign keys of those that stay go with the tables
 * that they lead to.
 * @throws DatabaseError (2BP01)
 */
export async function dropKeptTables(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  replaced: readonly string[],
): Promise<void> {
  const { names, kept } = places
  const { rows: keys } = await sql<{ table: string; name: string }>`
    SELECT c.relname AS "table", k.conname AS name
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid
    WHERE k.contype = 'f' AND o.relnamespace = to_regnamespace(format('%I', ${kept}::text))
      AND c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text))
      AND c.relname = ANY (${[...SERVED, ...UNSERVED]}::text[])`.execute(trx)
  for (const { table, name } of keys)
    await sql`ALTER TABLE ${names.id(table)} DROP CONSTRAINT ${sql.id(name)}`.execute(trx)
  await dropKept(trx, places, replaced)
}

/** Drops the extension pgcrypto, unless functions of applications have come to need it. */
export async function dropPgcrypto(trx: Kysely<unknown>): Promise<void> {
  await sql`
    DO $$ BEGIN DROP EXTENSION IF EXISTS pgcrypto; EXCEPTION WHEN dependent_objects_still_exist THEN END $$`.execute(
    trx,
  )
}
