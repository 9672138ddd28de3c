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

/** The secrets of authenticator apps that were enrolled here. A spoilt secret is left out, see `listSpoiltFactors`. */
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
  /** SQL of others may have written any JSON. */
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

/** `locked`: no setting has its key. `spoilt`: SQL of others has changed the secret, so its key does not open it. */
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

/** Lists the authenticator apps that an undo cannot give back because SQL of others has spoilt their secret. */
export async function listSpoiltFactors(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  keys: EncryptionKeys,
): Promise<readonly string[]> {
  const rows = await listEncryptedFactors(db, places)
  return rows.filter((row) => judgeSecret(keys, row).verdict === 'spoilt').map(({ id }) => `mfa_factors ${id}`)
}

/**
 * Returns a function that writes a secret in the form of supabase/auth. It is encrypted if this service has a key by which
 * supabase/auth has encrypted others, and otherwise clear text. It returns undefined for a spoilt secret.
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

/** The name under which supabase/auth knows the key that encrypts here. */
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

/** The columns of supabase/auth for the settings of a provider. Arrays are `text[]`, records are `jsonb`. */
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
 * The custom providers that were added, changed or deleted here since the switch. One that supabase/auth
 * cannot have ends there: its old settings may be those that an admin has replaced because they were
 * compromised.
 */
export async function giveBackProviders(context: SecretGiveBackContext): Promise<void> {
  const { trx, places } = context
  if (!(await hasRelation(trx, places.kept, 'custom_oauth_providers'))) return
  const [old, own] = [sql.id(places.kept, 'custom_oauth_providers'), places.names.id('custom_oauth_providers')]
  const changed = await listChangedProviders(trx, places)
  await sql`
    DELETE FROM ${old} o USING ${sql.id(places.kept, COPIED_PROVIDERS)} c
    WHERE c.id = o.id AND NOT EXISTS (SELECT FROM ${own} w WHERE w.id = o.id)`.execute(trx)
  // A provider that was not copied may have been created here under the same name.
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

/** The custom providers that undo cannot give back, by their identifiers. */
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
 * The secrets that undo would have to give back and cannot open, because a key is missing.
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
    return `the key ${keyId} sealed ${table} ${listFirst(closed.map(({ id }) => id))}`
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

/** Whether a provider meets the constraints of supabase/auth 2.196 that are narrower than the rules of this service. */
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
 * The migrations of supabase/auth 2.158 and 2.163, the first versions that check the type of a factor at its verification: for
 * phones, and for security keys. Versions before 2.158 treat each factor as an authenticator app (`internal/api/mfa.go`). A
 * factor without a secret could be verified by the code of an empty secret. Versions from 2.158 to 2.162 refuse security keys.
 */
const KNOWN_SINCE = { phone: '20240729123726', webauthn: '20241009103726' } as const

/** The second factors that a version of supabase/auth cannot have, and that undo removes. */
export interface UnfitFactors {
  readonly phones: number
  /** WebAuthn factors. */
  readonly keys: number
  /** Users who have no other verified factor, and sign in with a password alone afterwards. */
  readonly bareUsers: number
}

/** `version`: the newest migration of supabase/auth in the database. */
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

/** Removes the factors that the version of supabase/auth does not know, also unverified ones: anybody could verify them there. */
export async function removeUnfitFactors(
  trx: Kysely<unknown>,
  { places: { names }, version }: Upstream,
): Promise<void> {
  await sql`DELETE FROM ${names.id('mfa_factors')} f WHERE ${isUnfit(version)}`.execute(trx)
}

/**
 * The condition on factors `f` that a version does not know. A provider with a secret was made by SQL, and stays as it was at the
 * old service.
 */
function isUnfit(version: string): RawBuilder<boolean> {
  const unknown = Object.entries<string>(KNOWN_SINCE).flatMap(([type, since]) => (version < since ? [type] : []))
  return sql<boolean>`(f.factor_type::text = ANY (${unknown}::text[]) AND coalesce(f.secret, '') = '')`
}

/**
 * An authenticator app without a secret, which only SQL makes, is nobody's. With an empty secret anybody could verify it at the
 * old service, so it gets a random secret, in base32.
 */
export async function closeFactors(trx: Kysely<unknown>, { names }: Pick<AdoptionPlaces, 'names'>): Promise<void> {
  const digits = sql`concat(gen_random_uuid(), gen_random_uuid())`
  await sql`
    UPDATE ${names.id('mfa_factors')} SET secret = translate(upper(${digits}), '0189-', 'GHIJ')
    WHERE secret IS NULL AND factor_type::text = 'totp'`.execute(trx)
}
