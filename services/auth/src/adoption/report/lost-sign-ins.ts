import { type Kysely, sql } from 'kysely'
import { PROVIDERS } from '../../config/external.ts'
import type { JwtConfig } from '../../config/jwt.ts'
import { parseStoredHash } from '../../passwords/stored-hash.ts'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import type { Loss } from '../upstream-tables.ts'

/**
 * Users who cannot sign in afterwards though they can now, by reason.
 * @param audience JWT_AUD
 */
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
  // supabase/auth empties what identifies a user whom it deletes, and looks at deleted_at nowhere.
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
 * Looks for an audience of the settings that no user has, as where the old service had another GOTRUE_JWT_AUD:
 * who signs in by an address is looked for in it. Users of the empty audience are a loss of `listLostSignIns`.
 * @returns a line with what to do about it; none where a user has one of these audiences
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

/** The lengths of salt and hash, which follow the cost. */
const BCRYPT_REST = 'A'.repeat(53)
const ARGON2_REST = `${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Whether a sign-in may verify hashes of a cost. @param cost what stands before the salt; null where a hash is damaged */
function isAffordable(cost: string | null): boolean {
  return cost !== null && parseStoredHash(`${cost}$${cost.startsWith('$2') ? BCRYPT_REST : ARGON2_REST}`) !== undefined
}

/** How many users have a second factor or a passkey whose challenge the switch does not copy. */
export async function countAskedAgain(db: Kysely<unknown>, { names }: Pick<AdoptionPlaces, 'names'>): Promise<number> {
  const passkeys = (await hasRelation(db, names.schema, 'webauthn_credentials'))
    ? sql`UNION SELECT user_id FROM ${names.id('webauthn_credentials')}`
    : sql``
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM (
      SELECT user_id FROM ${names.id('mfa_factors')} WHERE factor_type::text <> 'totp' ${passkeys}) asked`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
