import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { hasRelation } from '../schema/catalog.ts'
import type { AdoptionPlaces } from './adoption-record.ts'

/** Something of a database that does not carry over, and how many it concerns. */
export interface Loss {
  readonly what: string
  readonly count: number
}

/** The tables of supabase/auth 2.196 that are read, moved, or of no use here. */
export const SERVED = [
  ...['users', 'identities', 'sessions', 'mfa_factors', 'mfa_amr_claims', 'mfa_challenges', 'refresh_tokens'],
  ...['one_time_tokens', 'flow_state', 'webauthn_credentials', 'webauthn_challenges', 'custom_oauth_providers'],
  ...['audit_log_entries', 'schema_migrations', 'instances'],
] as const
/** The tables of supabase/auth that this service does not read yet. */
export const UNSERVED = [
  ...['sso_providers', 'sso_domains', 'saml_providers', 'saml_relay_states'],
  ...['oauth_clients', 'oauth_authorizations', 'oauth_consents', 'oauth_client_states'],
] as const

/** The schema of the tables of supabase/auth. */
export type UpstreamPlace = Pick<AdoptionPlaces, 'names'>

/** The newest migration of supabase/auth that a database has; `none` where there is none. */
export async function findVersion(db: QueryExecutorProvider, { id }: Names): Promise<string> {
  const { rows } = await sql<{ version: string | null }>`
    SELECT max(version) AS version FROM ${id('schema_migrations')}`.execute(db)
  return rows[0]?.version ?? 'none'
}

/** Returns the encoding of the database in the words of PostgreSQL, such as `UTF8`. */
export async function readEncoding(db: QueryExecutorProvider): Promise<string> {
  const { rows } = await sql<{ encoding: string }>`SELECT current_setting('server_encoding') AS encoding`.execute(db)
  return rows[0]?.encoding ?? ''
}

/** How many rows each table has that is there, by its name. */
export async function countRows(
  db: Kysely<unknown>,
  { names }: UpstreamPlace,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    if (!(await hasRelation(db, names.schema, table))) continue
    const { rows } = await sql<{ count: string }>`SELECT count(*) AS count FROM ${names.id(table)}`.execute(db)
    counts.set(table, Number(rows[0]?.count ?? 0))
  }
  return counts
}
