import { type Kysely, sql } from 'kysely'
import type { AdoptionPlaces } from './adoption-record.ts'
import { READER } from './copy-audit-log.ts'
import { COPIED_FLOWS, COPIED_PROVIDERS, UNCOPIED_SESSIONS } from './copy-live-rows.ts'
import { BEGUN_SESSIONS } from './lone-tokens.ts'
import { STAGED_TABLES, STAGING_FUNCTIONS } from './staging-tables.ts'
import { COPIED_CODES } from './upstream-codes.ts'

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
 * Drops the record of an adoption with its schema, and tables of supabase/auth that are still there. Nothing
 * is dropped with CASCADE, which would take along in silence what an application has made there, or what
 * depends on it, such as a policy that hides rows.
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

/**
 * Drops what an adoption has staged, with its schema, as `dropKept` does. The triggers must be gone.
 * @throws DatabaseError (2BP01)
 */
export async function dropStaging(trx: Kysely<unknown>, { staging }: Pick<AdoptionPlaces, 'staging'>): Promise<void> {
  await dropSchema(trx, staging, { tables: STAGED_TABLES, functions: STAGING_FUNCTIONS })
}

/** Does nothing where there is no such schema. */
async function dropSchema(
  trx: Kysely<unknown>,
  schema: string,
  { tables, functions }: { readonly tables: readonly string[]; readonly functions: readonly string[] },
): Promise<void> {
  await sql`DROP TABLE IF EXISTS ${sql.join(tables.map((name) => sql.id(schema, name)))}`.execute(trx)
  for (const signature of functions)
    await sql`DROP FUNCTION IF EXISTS ${sql.id(schema)}.${sql.raw(signature)}`.execute(trx)
  await sql`DROP SCHEMA IF EXISTS ${sql.id(schema)}`.execute(trx)
}
