import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { type EncryptionKeys, readUpstreamSecret } from '../secrets/sealed-secret.ts'
import type { AdoptionPlaces } from './adoption-record.ts'
import { hasRelation, readColumns } from './catalog.ts'
import { ownTables } from './hidden-tables.ts'

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
type UpstreamPlace = Pick<AdoptionPlaces, 'names'>

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

/** The views that a run makes before the switch. */
const OWN_VIEWS = ['user_factors'] as const
const OWN_FUNCTIONS = ['uuid_v7', 'claim_user', 'text_grams', 'list_user'] as const

/**
 * The tables, views and functions in the schema that neither supabase/auth, nor this service, nor an extension has made.
 * They are left alone.
 */
export async function listInhabitants(db: Kysely<unknown>, { names }: UpstreamPlace): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND c.relname <> ALL (${[...SERVED, ...UNSERVED, ...ownTables, ...OWN_VIEWS]}::text[])
    UNION ALL SELECT p.proname || '()' FROM pg_proc p
      WHERE p.pronamespace = to_regnamespace(${names.schema}) AND p.proname <> ALL (${['uid', 'role', 'email', 'jwt', ...OWN_FUNCTIONS]}::text[])
    ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}

/** How many users have a second factor or a passkey whose challenge the switch does not copy. */
export async function countAskedAgain(db: Kysely<unknown>, { names }: UpstreamPlace): Promise<number> {
  const passkeys = (await hasRelation(db, names.schema, 'webauthn_credentials'))
    ? sql`UNION SELECT user_id FROM ${names.id('webauthn_credentials')}`
    : sql``
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM (
      SELECT user_id FROM ${names.id('mfa_factors')} WHERE factor_type::text <> 'totp' ${passkeys}) asked`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** The columns that supabase/auth may have sealed. */
const SEALED = [
  { table: 'users', column: 'encrypted_password', what: 'users whose password' },
  { table: 'mfa_factors', column: 'secret', what: 'authenticator apps whose secret' },
  { table: 'sessions', column: 'refresh_token_hmac_key', what: 'sessions whose key' },
] as const
type SealedColumn = Pick<(typeof SEALED)[number], 'table' | 'column'>

/**
 * Matches the JSON of a secret that supabase/auth has sealed, whose members are texts. A cast to JSON is no test, because it
 * would fail at the first text that is no JSON.
 */
const SEALED_FORM = String.raw`^\{\s*("(key_id|alg|data|nonce)"\s*:\s*"([^"\\]|\\.)*"\s*,?\s*)+\}\s*$`
const KEY_ID = String.raw`"key_id"\s*:\s*"((?:[^"\\]|\\.)*)"`
const SAMPLE_MAX = 5
const NAMED_MAX = 5

/** Secrets that supabase/auth has sealed by one key. */
interface SealedGroup {
  /** The name of the key at supabase/auth. */
  readonly keyId: string
  readonly count: number
  /** At most five of the secrets, with the ids of their rows. */
  readonly samples: readonly { readonly id: string; readonly secret: string }[]
}

/** The sealed secrets of a column, by the name of the key that sealed them. None where there is no such column. */
export async function listSealedSecrets(
  db: QueryExecutorProvider,
  { names }: UpstreamPlace,
  { table, column }: SealedColumn,
): Promise<readonly SealedGroup[]> {
  if (!(await readColumns(db, names.schema, table)).has(column)) return []
  const [value, groups] = [sql.ref(column), [] as SealedGroup[]]
  const from = sql`FROM ${names.id(table)} WHERE ${value} ~ ${SEALED_FORM}::text`
  const keyId = sql`coalesce(substring(${value} from ${KEY_ID}::text), '')`
  const { rows } = await sql<{ keyId: string; count: string }>`
    SELECT ${keyId} AS "keyId", count(*) AS count ${from} GROUP BY 1 ORDER BY 1`.execute(db)
  for (const row of rows) {
    const { rows: samples } = await sql<{ id: string; secret: string }>`
      SELECT id, ${value} AS secret ${from} AND ${keyId} = ${row.keyId} LIMIT ${sql.lit(SAMPLE_MAX)}`.execute(db)
    groups.push({ keyId: row.keyId, count: Number(row.count), samples })
  }
  return groups
}

/** Secrets that no key of the service opens, by the name of the key that sealed them. Some secrets of each name are tried. */
export async function listClosedSecrets(
  db: QueryExecutorProvider,
  place: UpstreamPlace,
  keys: EncryptionKeys,
): Promise<readonly Loss[]> {
  const losses: Loss[] = []
  for (const column of SEALED) {
    for (const { keyId, count, samples } of await listSealedSecrets(db, place, column)) {
      if (samples.some(({ id, secret }) => readUpstreamSecret(keys, id, secret) !== undefined)) continue
      losses.push({ what: `${column.what} is sealed by the key ${keyId}, which no setting has`, count })
    }
  }
  return losses
}

/** A signature counter of WebAuthn, which has 32 bits. */
export const COUNTER_FORM = '^[0-9]{1,10}$'

/** Values that neither service can use. */
const BROKEN = [
  ...SEALED.map(({ table, column, what }) => ({
    table,
    column,
    isBroken: sql`${sql.ref(column)} LIKE '{%' AND ${sql.ref(column)} !~ ${SEALED_FORM}::text`,
    what: `${what} is neither plain nor sealed`,
  })),
  {
    table: 'mfa_factors',
    column: 'web_authn_credential',
    isBroken: sql`web_authn_credential #>> '{authenticator,signCount}' !~ ${COUNTER_FORM}::text`,
    what: 'WebAuthn factors whose signature counter is no counter',
  },
] as const

/**
 * Lists values that begin like a sealed secret and are no sealed secret, and counters that are no number. Names the first rows.
 */
export async function listBrokenValues(db: QueryExecutorProvider, { names }: UpstreamPlace): Promise<readonly Loss[]> {
  const losses: Loss[] = []
  for (const { table, column, isBroken, what } of BROKEN) {
    if (!(await readColumns(db, names.schema, table)).has(column)) continue
    const { rows } = await sql<{ count: string; ids: readonly string[] }>`
      WITH broken AS (SELECT id::text AS id FROM ${names.id(table)} WHERE ${isBroken})
      SELECT count(*) AS count, ARRAY(SELECT id FROM broken ORDER BY id LIMIT ${sql.lit(NAMED_MAX)}) AS ids FROM broken`.execute(
      db,
    )
    const { count = 0, ids = [] } = rows[0] ?? {}
    if (Number(count) > 0) losses.push({ what: `${what}: ${table} ${ids.join(', ')}`, count: Number(count) })
  }
  return losses
}
