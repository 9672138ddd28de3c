import { type QueryExecutorProvider, sql } from 'kysely'
import { readColumns } from '../../schema/catalog.ts'
import { type EncryptionKeys, readUpstreamSecret } from '../../secrets/sealed-secret.ts'
import { COUNTER_FORM } from '../copy/copy-live-rows.ts'
import type { Loss, UpstreamPlace } from '../upstream-tables.ts'

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
  {
    table: 'users',
    column: 'raw_app_meta_data',
    isBroken: sql`octet_length(raw_app_meta_data::text) > 8192`,
    what: 'users whose app_metadata has more than 8192 bytes, so that their access token may be longer than a header',
  },
] as const

/**
 * Lists values that begin like a sealed secret and are no sealed secret, counters that are no number, and metadata that fill a
 * token. Names the first rows.
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
