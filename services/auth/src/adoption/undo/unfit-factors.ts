import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AdoptionPlaces } from '../adoption-record.ts'

/**
 * The migrations of supabase/auth 2.158 and 2.163, the first versions that ask for the type of a factor as it
 * is verified: for phones, and for security keys. Versions before 2.158 take each factor for an authenticator
 * app (`internal/api/mfa.go`), so that anybody could verify one without a secret, by the code of an empty
 * secret. Versions from 2.158 to 2.162 refuse security keys.
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

/** Counts the factors that `removeUnfitFactors` removes, and the users who have no other one. */
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

/** The count where nothing is removed. */
export const NO_UNFIT_FACTORS: UnfitFactors = { phones: 0, keys: 0, bareUsers: 0 }

/**
 * Removes the factors that the version of supabase/auth does not know, those that are not verified too: it
 * would let anybody verify them.
 */
export async function removeUnfitFactors(
  trx: Kysely<unknown>,
  { places: { names }, version }: Upstream,
): Promise<void> {
  await sql`DELETE FROM ${names.id('mfa_factors')} f WHERE ${isUnfit(version)}`.execute(trx)
}

/**
 * The condition on factors `f` that a version does not know. One that has a secret was made by SQL, and stays
 * what it was at the old service.
 */
function isUnfit(version: string): RawBuilder<boolean> {
  const unknown = Object.entries<string>(KNOWN_SINCE).flatMap(([type, since]) => (version < since ? [type] : []))
  return sql<boolean>`(f.factor_type::text = ANY (${unknown}::text[]) AND coalesce(f.secret, '') = '')`
}

/**
 * An authenticator app without a secret, which only SQL makes, is nobody's. With an empty secret anybody
 * could verify it at the old service, so it gets a secret that nobody knows, in base32.
 */
export async function closeFactors(trx: Kysely<unknown>, { names }: Pick<AdoptionPlaces, 'names'>): Promise<void> {
  const digits = sql`concat(gen_random_uuid(), gen_random_uuid())`
  await sql`
    UPDATE ${names.id('mfa_factors')} SET secret = translate(upper(${digits}), '0189-', 'GHIJ')
    WHERE secret IS NULL AND factor_type::text = 'totp'`.execute(trx)
}
