import { type Kysely, type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { CustomProviderSettings } from '../../external-providers/custom-provider.ts'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import { listFirst } from '../../schema/existing-schema.ts'
import {
  decryptSecret,
  type Encryption,
  type EncryptionKeys,
  encryptForUpstream,
  readUpstreamSecret,
} from '../../secrets/encrypted-secret.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { COPIED_PROVIDERS } from '../copy/copy-live-rows.ts'
import { listEncryptedSecrets } from '../report.ts'

export interface SecretGiveBackContext {
  readonly trx: Kysely<unknown>
  readonly places: AdoptionPlaces
  readonly encryption: Encryption
}

/** Writes back the secrets of authenticator apps enrolled here, except damaged ones (see `listSpoiltFactors`). */
export async function giveBackTotpFactors(context: SecretGiveBackContext): Promise<void> {
  const { trx, places } = context
  const factors = places.names.id('mfa_factors')
  const write = await prepareSecretWriter(context)
  for (const row of await listEncryptedFactors(trx, places)) {
    const secret = write(row)
    if (secret !== undefined) await sql`UPDATE ${factors} SET secret = ${secret} WHERE id = ${row.id}`.execute(trx)
  }
}

interface EncryptedRow {
  readonly id: string
  /** Any JSON, because other programs may have written it by SQL. */
  readonly encrypted: unknown
}

async function listEncryptedFactors(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<readonly EncryptedRow[]> {
  const { rows } = await sql<EncryptedRow>`
    SELECT id, sealed_secret AS encrypted FROM ${names.id('mfa_factors')}
    WHERE sealed_secret IS NOT NULL ORDER BY id`.execute(db)
  return rows
}

const Encrypted = z.object({
  key_id: z.string().regex(/^[0-9a-f]{16}$/),
  alg: z.literal('aes-gcm-hkdf'),
  nonce: z.string(),
  data: z.string(),
})

/** `locked`: no setting has the key of the secret. `spoilt`: the key cannot decrypt it, because SQL has changed it. */
type JudgedSecret =
  | { readonly verdict: 'open'; readonly secret: string }
  | { readonly verdict: 'locked'; readonly keyId: string }
  | { readonly verdict: 'spoilt' }

function judgeSecret(keys: EncryptionKeys, { id, encrypted }: EncryptedRow): JudgedSecret {
  const { data } = Encrypted.safeParse(encrypted)
  if (!data) return { verdict: 'spoilt' }
  if (!keys.byId.has(data.key_id)) return { verdict: 'locked', keyId: data.key_id }
  try {
    return { verdict: 'open', secret: decryptSecret(keys, id, data) }
  } catch {
    return { verdict: 'spoilt' }
  }
}

/** Lists the authenticator apps that an undo cannot write back because their secret was damaged by SQL. */
export async function listSpoiltFactors(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  keys: EncryptionKeys,
): Promise<readonly string[]> {
  const rows = await listEncryptedFactors(db, places)
  return rows.filter((row) => judgeSecret(keys, row).verdict === 'spoilt').map(({ id }) => `mfa_factors ${id}`)
}

/**
 * Prepares a function that returns a secret in the format of supabase/auth, or `undefined` if the secret is damaged. It encrypts
 * only if this service has a key with which supabase/auth has encrypted other secrets.
 */
async function prepareSecretWriter({
  trx,
  places,
  encryption,
}: SecretGiveBackContext): Promise<(row: EncryptedRow) => string | undefined> {
  const keyId = await findKeyId(trx, places, encryption)
  return (row) => {
    const judged = judgeSecret(encryption.encryptionKeys, row)
    if (judged.verdict === 'spoilt') return undefined
    if (judged.verdict === 'locked') throw new Error(`no encryption key ${judged.keyId}`)
    const { secret } = judged
    return keyId === undefined ? secret : encryptForUpstream(encryption, row.id, { keyId, secret })
  }
}

/** Returns the name of the encrypting key in supabase/auth. */
async function findKeyId(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  { encryptionKeys }: Encryption,
): Promise<string | undefined> {
  const current = { ...encryptionKeys, byId: new Map([[encryptionKeys.current.id, encryptionKeys.current]]) }
  const groups = await listEncryptedSecrets(trx, places, { table: 'users', column: 'encrypted_password' })
  return groups.find(({ samples }) =>
    samples.some(({ id, secret }) => readUpstreamSecret(current, id, secret) !== undefined),
  )?.keyId
}

interface OwnProvider extends EncryptedRow {
  readonly identifier: string
  readonly settings: unknown
}

/** The columns of supabase/auth for the settings of a provider. Arrays have the type `text[]`, and records `jsonb`. */
const COLUMNS = {
  provider_type: 'text',
  name: 'text',
  client_id: 'text',
  acceptable_client_ids: 'text[]',
  scopes: 'text[]',
  custom_claims_allowlist: 'text[]',
  pkce_enabled: 'boolean',
  attribute_mapping: 'jsonb',
  authorization_params: 'jsonb',
  enabled: 'boolean',
  email_optional: 'boolean',
  issuer: 'text',
  discovery_url: 'text',
  skip_nonce_check: 'boolean',
  authorization_url: 'text',
  token_url: 'text',
  userinfo_url: 'text',
} as const

/**
 * Writes back custom providers that were added, changed or deleted here since the switch. A provider that supabase/auth cannot
 * have is deleted there. Its old settings must not return, because an admin may have replaced them after they were compromised.
 */
export async function giveBackProviders(context: SecretGiveBackContext): Promise<void> {
  const { trx, places } = context
  if (!(await hasRelation(trx, places.kept, 'custom_oauth_providers'))) return
  const [old, own] = [sql.id(places.kept, 'custom_oauth_providers'), places.names.id('custom_oauth_providers')]
  const changed = await listChangedProviders(trx, places)
  await sql`
    DELETE FROM ${old} o USING ${sql.id(places.kept, COPIED_PROVIDERS)} c
    WHERE c.id = o.id AND NOT EXISTS (SELECT FROM ${own} w WHERE w.id = o.id)`.execute(trx)
  // Also delete old providers with the names of changed ones. A provider that was created here may have the name of a provider
  // that the adoption did not copy.
  await sql`
    DELETE FROM ${old} o WHERE o.identifier = ANY (${changed.map(({ identifier }) => identifier)}::text[])`.execute(trx)
  const write = await prepareSecretWriter(context)
  const present = await readColumns(trx, places.kept, 'custom_oauth_providers')
  for (const provider of changed.filter(fitsUpstream)) {
    const secret = write(provider)
    if (secret === undefined) continue
    await sql`
      INSERT INTO ${old} (id, identifier, client_secret, created_at, updated_at, ${sql.join(columnNames(present))})
        SELECT id, identifier, ${secret}, created_at, updated_at, ${sql.join(columnValues(present, provider))}
        FROM ${own} WHERE id = ${provider.id}`.execute(trx)
  }
}

const columnNames = (present: ReadonlySet<string>) =>
  Object.keys(COLUMNS)
    .filter((name) => present.has(name))
    .map((name) => sql.id(name))

function columnValues(present: ReadonlySet<string>, { settings }: OwnProvider): readonly RawBuilder<unknown>[] {
  const members = new Map<string, unknown>(Object.entries(CustomProviderSettings.parse(settings)))
  return Object.entries(COLUMNS)
    .filter(([name]) => present.has(name))
    .map(([name, type]) => {
      const value = members.get(name) ?? null
      return sql`${type === 'jsonb' ? JSON.stringify(value) : value}::${sql.raw(type)}`
    })
}

/** Returns the identifiers of custom providers that an undo cannot write back. */
export async function listUnfitForUpstream(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  keys: EncryptionKeys,
): Promise<readonly string[]> {
  const isKnown = await hasRelation(db, places.kept, 'custom_oauth_providers')
  const changed = await listChangedProviders(db, places)
  const fits = (provider: OwnProvider) => fitsUpstream(provider) && judgeSecret(keys, provider).verdict !== 'spoilt'
  return changed.filter((provider) => !isKnown || !fits(provider)).map(({ identifier }) => identifier)
}

/**
 * Returns the secrets that an undo must write back but cannot decrypt, because a key is missing.
 * @returns a line for each key, which names the first rows
 */
export async function listUnopened(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  keys: EncryptionKeys,
): Promise<readonly string[]> {
  const providers = (await listChangedProviders(db, places)).filter(fitsUpstream)
  return [
    ...describeLocked(await listEncryptedFactors(db, places), keys, 'mfa_factors'),
    ...describeLocked(providers, keys, 'custom_oauth_providers'),
  ]
}

function describeLocked(rows: readonly EncryptedRow[], keys: EncryptionKeys, table: string): readonly string[] {
  const locked = rows.flatMap((row) => {
    const judged = judgeSecret(keys, row)
    return judged.verdict === 'locked' ? [{ id: row.id, keyId: judged.keyId }] : []
  })
  return [...Map.groupBy(locked, ({ keyId }) => keyId)].map(([keyId, closed]) => {
    return `the key ${keyId} encrypted ${table} ${listFirst(closed.map(({ id }) => id))}`
  })
}

async function listChangedProviders(db: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly OwnProvider[]> {
  const { rows } = await sql<OwnProvider>`
    SELECT w.id, w.identifier, w.client_secret AS encrypted, w.settings
    FROM ${places.names.id('custom_oauth_providers')} w
    LEFT JOIN ${sql.id(places.kept, COPIED_PROVIDERS)} c ON c.id = w.id
    WHERE c.updated_at IS DISTINCT FROM w.updated_at ORDER BY w.identifier`.execute(db)
  return rows
}

/** Returns whether a provider meets those constraints of supabase/auth 2.196 that are stricter than the rules of this service. */
function fitsUpstream({ identifier, settings }: OwnProvider): boolean {
  const { data } = CustomProviderSettings.safeParse(settings)
  return (
    data !== undefined &&
    /^[a-z0-9][a-z0-9:-]{0,48}[a-z0-9]$/.test(identifier) &&
    [...data.name].length <= NAME_LENGTH_MAX &&
    [...data.client_id].length <= CLIENT_ID_LENGTH_MAX
  )
}

const NAME_LENGTH_MAX = 100
const CLIENT_ID_LENGTH_MAX = 512

/**
 * The migrations of supabase/auth 2.158 (phones) and 2.163 (security keys), the first versions that check the type of a factor
 * when it is verified. Versions before 2.158 treat each factor as an authenticator app (`internal/api/mfa.go`). A factor without
 * a secret could then be verified with the code of an empty secret. Versions from 2.158 to 2.162 refuse security keys.
 */
const KNOWN_SINCE = { phone: '20240729123726', webauthn: '20241009103726' } as const

/** The second factors that a version of supabase/auth cannot have. An undo removes them. */
export interface UnfitFactors {
  readonly phones: number
  /** WebAuthn factors. */
  readonly keys: number
  /** The number of users without another verified factor. They sign in with only a password afterwards. */
  readonly bareUsers: number
}

/** A database of supabase/auth. `version` is its newest migration. */
interface Upstream {
  readonly places: Pick<AdoptionPlaces, 'names'>
  readonly version: string
}

export async function countUnfitFactors(
  db: Kysely<unknown>,
  { places: { names }, version }: Upstream,
): Promise<UnfitFactors> {
  const { rows } = await sql<UnfitFactors>`
    WITH factor AS (
      SELECT f.user_id, f.factor_type::text AS type, f.status::text = 'verified' AS is_verified, ${isUnfit(version)} AS is_unfit
      FROM ${names.id('mfa_factors')} f)
    SELECT (count(*) FILTER (WHERE is_unfit AND type = 'phone'))::int AS phones,
      (count(*) FILTER (WHERE is_unfit AND type = 'webauthn'))::int AS keys,
      (count(DISTINCT user_id) FILTER (WHERE is_unfit AND is_verified AND user_id NOT IN (
        SELECT user_id FROM factor WHERE is_verified AND NOT is_unfit)))::int AS "bareUsers"
    FROM factor`.execute(db)
  return rows[0] ?? NO_UNFIT_FACTORS
}

export const NO_UNFIT_FACTORS: UnfitFactors = { phones: 0, keys: 0, bareUsers: 0 }

/** Removes factors that the version does not know, including unverified ones, which anybody could verify there. */
export async function removeUnfitFactors(
  trx: Kysely<unknown>,
  { places: { names }, version }: Upstream,
): Promise<void> {
  await sql`DELETE FROM ${names.id('mfa_factors')} f WHERE ${isUnfit(version)}`.execute(trx)
}

/**
 * Returns the condition on factors `f` that a version does not know. A factor with a secret was inserted by SQL and does not
 * change.
 */
function isUnfit(version: string): RawBuilder<boolean> {
  const unknown = Object.entries<string>(KNOWN_SINCE).flatMap(([type, since]) => (version < since ? [type] : []))
  return sql<boolean>`(f.factor_type::text = ANY (${unknown}::text[]) AND coalesce(f.secret, '') = '')`
}

/**
 * Gives a random secret in base32 to authenticator apps without a secret, which only SQL can create. With an empty secret,
 * anybody could verify such a factor at the old service.
 */
export async function closeFactors(trx: Kysely<unknown>, { names }: Pick<AdoptionPlaces, 'names'>): Promise<void> {
  const digits = sql`concat(gen_random_uuid(), gen_random_uuid())`
  await sql`
    UPDATE ${names.id('mfa_factors')} SET secret = translate(upper(${digits}), '0189-', 'GHIJ')
    WHERE secret IS NULL AND factor_type::text = 'totp'`.execute(trx)
}
