import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { PROVIDERS } from '../config/external.ts'
import type { JwtConfig } from '../config/jwt.ts'
import { parseStoredHash } from '../passwords/stored-hash.ts'
import { NIL_UUID } from '../records/ids.ts'
import { hasRelation, readColumns } from '../schema/catalog.ts'
import { listFirst, NAMED_MAX } from '../schema/existing-schema.ts'
import { type EncryptionKeys, readUpstreamSecret } from '../secrets/encrypted-secret.ts'
import type { AdoptionPlaces } from './adoption-record.ts'
import { COUNTER_FORM } from './copy/copy-live-rows.ts'
import type { Loss, UpstreamPlace } from './upstream-tables.ts'

/** Lists users who can sign in now but not after the adoption, by reason. @param audience JWT_AUD */
export async function listLostSignIns(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  audience: string,
): Promise<readonly Loss[]> {
  const { id } = names
  const served = [...PROVIDERS, 'email', 'phone']
  const { rows: hashes } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${id('users')}
    WHERE encrypted_password <> '' AND encrypted_password !~ '^([{]|[$]2[aby][$]|[$]argon2id?[$]|[$]fbscrypt[$])'`.execute(
    db,
  )
  const { rows: costs } = await sql<{ cost: string | null; count: string }>`
    SELECT substring(encrypted_password from '^([$]2[aby][$][0-9]{2}|[$]argon2id?[$]v=[0-9]+[$][^$]*)[$]') AS cost, count(*) AS count
    FROM ${id('users')} WHERE encrypted_password ~ '^[$](2[aby]|argon2id?)[$]' GROUP BY 1`.execute(db)
  const { rows: nowhere } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${id('users')} WHERE aud = '' AND ${audience}::text <> ''`.execute(db)
  // supabase/auth clears the identifying columns of a deleted user, and never reads `deleted_at`.
  const { rows: marked } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${id('users')}
    WHERE deleted_at IS NOT NULL AND (encrypted_password <> '' OR email LIKE '%@%' OR phone ~ '^[0-9]+$')`.execute(db)
  const { rows: providers } = await sql<{ provider: string; count: string }>`
    SELECT CASE WHEN i.provider LIKE 'sso:%' THEN 'sso' ELSE i.provider END AS provider, count(DISTINCT i.user_id) AS count
    FROM ${id('identities')} i JOIN ${id('users')} u ON u.id = i.user_id
    WHERE coalesce(u.encrypted_password, '') = '' AND i.provider <> ALL (${served}::text[]) AND i.provider NOT LIKE 'custom:%'
      AND NOT EXISTS (
        SELECT FROM ${id('identities')} o WHERE o.user_id = u.id AND (o.provider = ANY (${served}::text[]) OR o.provider LIKE 'custom:%'))
    GROUP BY 1 ORDER BY 1`.execute(db)
  return [
    { what: 'users whose password is stored in an unknown form', count: Number(hashes[0]?.count ?? 0) },
    {
      what: 'users whose password costs more to verify than a sign-in may',
      count: costs.reduce((sum, { cost, count }) => sum + (isAffordable(cost) ? 0 : Number(count)), 0),
    },
    {
      what: `users whose audience is empty, while the service has ${audience}: keep the names GOTRUE_… and leave GOTRUE_JWT_AUD unset`,
      count: Number(nowhere[0]?.count ?? 0),
    },
    {
      what: 'users whom SQL has marked as deleted, and supabase/auth lets in: clear deleted_at of those who are to sign in',
      count: Number(marked[0]?.count ?? 0),
    },
    ...providers.map(({ provider, count }) => ({
      what: `users who sign in only by ${provider}, which this service does not serve`,
      count: Number(count),
    })),
  ].filter(({ count }) => count > 0)
}

/**
 * Checks that at least one user has an audience of the settings. The old service may have had another GOTRUE_JWT_AUD, and a
 * sign-in by an address searches only users of the audience. Users of the empty audience are reported by `listLostSignIns`.
 * @returns a line with advice, or no line if a user has one of these audiences
 */
export async function listLoneAudience(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  { audience, allowedAudiences }: Pick<JwtConfig, 'audience' | 'allowedAudiences'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ aud: string; count: string }>`
    SELECT aud, count(*) AS count FROM ${names.id('users')} WHERE aud IS NOT NULL
    GROUP BY aud ORDER BY count(*) DESC, aud`.execute(db)
  const most = rows.find(({ aud }) => aud !== '')
  if (most === undefined || rows.some(({ aud }) => allowedAudiences.has(aud))) return []
  const own = audience === '' ? 'the empty audience' : `the audience ${audience}`
  return [
    `no user has ${own}, in which the service looks for who signs in by an address: ${most.count} users have ${most.aud}. Set GOTRUE_JWT_AUD to it`,
  ]
}

/** Placeholders for the salt and the hash, which follow the cost. */
const BCRYPT_REST = 'A'.repeat(53)
const ARGON2_REST = `${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Whether a sign-in may verify hashes of a cost. @param cost the text before the salt, `null` if the hash is damaged */
function isAffordable(cost: string | null): boolean {
  return cost !== null && parseStoredHash(`${cost}$${cost.startsWith('$2') ? BCRYPT_REST : ARGON2_REST}`) !== undefined
}

/** Counts users with a second factor or a passkey whose challenge the switch does not copy. */
export async function countAskedAgain(db: Kysely<unknown>, { names }: Pick<AdoptionPlaces, 'names'>): Promise<number> {
  const passkeys = (await hasRelation(db, names.schema, 'webauthn_credentials'))
    ? sql`UNION SELECT user_id FROM ${names.id('webauthn_credentials')}`
    : sql``
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM (
      SELECT user_id FROM ${names.id('mfa_factors')} WHERE factor_type::text <> 'totp' ${passkeys}) asked`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** The columns that supabase/auth may have encrypted. */
const ENCRYPTED = [
  { table: 'users', column: 'encrypted_password', what: 'users whose password' },
  { table: 'mfa_factors', column: 'secret', what: 'authenticator apps whose secret' },
  { table: 'sessions', column: 'refresh_token_hmac_key', what: 'sessions whose key' },
] as const
type UpstreamColumn = Pick<(typeof ENCRYPTED)[number], 'table' | 'column'>

/**
 * Matches the JSON of a secret that supabase/auth has encrypted. All its members are strings. A cast to JSON cannot be used as a
 * test, because it fails at the first text that is not JSON.
 */
const ENCRYPTED_FORM = String.raw`^\{\s*("(key_id|alg|data|nonce)"\s*:\s*"([^"\\]|\\.)*"\s*,?\s*)+\}\s*$`
const KEY_ID = String.raw`"key_id"\s*:\s*"((?:[^"\\]|\\.)*)"`
const SAMPLE_MAX = 5

interface EncryptedGroup {
  /** The name of the key in supabase/auth. */
  readonly keyId: string
  readonly count: number
  /** At most five of the secrets, with the ids of their rows. */
  readonly samples: readonly { readonly id: string; readonly secret: string }[]
}

/** Returns the encrypted secrets of a column, grouped by the name of their key. Returns none if the column does not exist. */
export async function listEncryptedSecrets(
  db: QueryExecutorProvider,
  { names }: UpstreamPlace,
  { table, column }: UpstreamColumn,
): Promise<readonly EncryptedGroup[]> {
  if (!(await readColumns(db, names.schema, table)).has(column)) return []
  const [value, groups] = [sql.ref(column), [] as EncryptedGroup[]]
  const from = sql`FROM ${names.id(table)} WHERE ${value} ~ ${ENCRYPTED_FORM}::text`
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

/** Returns the secrets that no key of the service can decrypt, by the name of their key. Tries some of each name. */
export async function listClosedSecrets(
  db: QueryExecutorProvider,
  place: UpstreamPlace,
  keys: EncryptionKeys,
): Promise<readonly Loss[]> {
  const losses: Loss[] = []
  for (const column of ENCRYPTED) {
    for (const { keyId, count, samples } of await listEncryptedSecrets(db, place, column)) {
      if (samples.some(({ id, secret }) => readUpstreamSecret(keys, id, secret) !== undefined)) continue
      losses.push({ what: `${column.what} is encrypted with the key ${keyId}, which no setting has`, count })
    }
  }
  return losses
}

/** Values that neither supabase/auth nor this service can use. */
const BROKEN = [
  ...ENCRYPTED.map(({ table, column, what }) => ({
    table,
    column,
    isBroken: sql`${sql.ref(column)} LIKE '{%' AND ${sql.ref(column)} !~ ${ENCRYPTED_FORM}::text`,
    what: `${what} is neither plain nor encrypted`,
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
 * Lists values that begin like an encrypted secret but are not one, counters that are not numbers, and metadata that are too
 * large for a token. Names the first rows.
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

/**
 * Returns a condition: a row of `sessions` is a sign-in of the user. supabase/auth also creates sessions for OAuth clients, which
 * act for the user within a scope.
 * @param alias of the table in the statement
 * @returns `true` if the version has no OAuth clients
 */
export async function isOwnSession(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
  alias: string,
): Promise<RawBuilder<unknown>> {
  const columns = await readColumns(db, names.schema, 'sessions')
  return columns.has('oauth_client_id') ? sql`${sql.ref(`${alias}.oauth_client_id`)} IS NULL` : sql`true`
}

/** Counts the sessions of OAuth clients. @param fate what happens to these sessions, for the operator */
export async function listClientSessions(
  db: QueryExecutorProvider,
  place: Pick<AdoptionPlaces, 'names'>,
  fate: string,
): Promise<readonly Loss[]> {
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${place.names.id('sessions')} s WHERE NOT (${await isOwnSession(db, place, 's')})`.execute(
    db,
  )
  const count = Number(rows[0]?.count ?? 0)
  return count === 0 ? [] : [{ what: `sessions of OAuth clients, which this service does not serve: ${fate}`, count }]
}

/** Users whose role makes them admins (reference: Admins). */
export interface AdminGroup {
  readonly role: string
  readonly count: number
  /** The ids of the first users. */
  readonly ids: readonly string[]
}

/** Returns the users with a role of admins, by role. SQL may have set the role. @param roles JWT_ADMIN_ROLES */
export async function listAdmins(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  roles: readonly string[],
): Promise<readonly AdminGroup[]> {
  const { rows } = await sql<AdminGroup>`
    SELECT role::text AS role, count(*)::int AS count, (array_agg(id::text ORDER BY id))[:${sql.lit(NAMED_MAX)}] AS ids
    FROM ${names.id('users')} WHERE role::text = ANY (${[...roles]}::text[]) GROUP BY role ORDER BY role`.execute(db)
  return rows
}

export function describeAdmins({ role, count, ids }: AdminGroup): string {
  return `admin      ${count} users have the role ${role}, which makes them admins: ${listFirst(ids, count)}`
}

/** Users who cannot sign in at supabase/auth but can sign in here. */
export interface OtherInstances {
  readonly count: number
  /** The ids of the first users. */
  readonly ids: readonly string[]
}

/**
 * Returns the users whose `instance_id` is missing or differs from the one that supabase/auth gives to all users. Such users were
 * inserted by SQL. Each look-up of supabase/auth includes its own instance (`internal/models/user.go`, from 2.40 to 2.196), so
 * its lists do not show them either.
 */
export async function listOtherInstances(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<OtherInstances> {
  const { rows } = await sql<OtherInstances>`
    SELECT count(*)::int AS count, coalesce((array_agg(id::text ORDER BY id))[:${sql.lit(NAMED_MAX)}], '{}') AS ids
    FROM ${names.id('users')} u WHERE instance_id IS DISTINCT FROM ${NIL_UUID}::uuid AND deleted_at IS NULL
      -- Here too, nobody finds a user without an audience by an address.
      AND (aud IS NOT NULL OR EXISTS (SELECT FROM ${names.id('identities')} i WHERE i.user_id = u.id)
        OR EXISTS (SELECT FROM ${names.id('sessions')} s WHERE s.user_id = u.id))`.execute(db)
  return rows[0] ?? { count: 0, ids: [] }
}

/** Describes users of other instances in one line, with the first five ids. Returns no line if there are none. */
export function describeOtherInstances({ count, ids }: OtherInstances): readonly string[] {
  if (count === 0) return []
  return [
    `gained     ${count} users have another instance_id than that of supabase/auth, which finds none of them: they sign in here: ${listFirst(ids, count)}`,
  ]
}

/** Phones that supabase/auth cannot find, because it removes a leading `+` and all spaces from each request. */
const NEVER_ASKED = '^[+]| '
const E164 = '^[1-9][0-9]{1,14}$'

/**
 * Lists users whose phone is not in the form of E.164, and names the first of them. SQL or an early version of supabase/auth may
 * have stored such phones. Deleted users are left out, because supabase/auth replaces their phone by a hash.
 * @param areFound whether a sign-in by password finds such phones here, as it does at supabase/auth
 */
export async function listMalformedPhones(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
  { areFound }: { readonly areFound: boolean },
): Promise<readonly Loss[]> {
  const { rows } = await sql<{ isLost: boolean; count: number; ids: readonly string[] }>`
    WITH odd AS (
      SELECT id::text AS id, phone !~ ${NEVER_ASKED}::text AS is_lost FROM ${names.id('users')}
      WHERE phone <> '' AND phone !~ ${E164}::text AND deleted_at IS NULL
        AND (phone ~ ${NEVER_ASKED}::text OR (encrypted_password <> '' AND NOT ${areFound}::boolean)))
    SELECT is_lost AS "isLost", count(*)::int AS count, (array_agg(id ORDER BY id))[1:${sql.lit(NAMED_MAX)}] AS ids
    FROM odd GROUP BY is_lost ORDER BY is_lost`.execute(db)
  return rows.map(({ isLost, count, ids }) => ({
    what: `${isLost ? LOST : UNFOUND}: users ${ids.join(', ')}`,
    count,
  }))
}

const UNFOUND = 'users whose phone has a + or a blank, by which nobody signs in at supabase/auth either'
const LOST = 'users whose phone is no number of E.164, who sign in by it and a password in the profile supabase alone'
