import { type Kysely, type RawBuilder, sql } from 'kysely'
import { StoredCredential } from '../../passkeys/credential.ts'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import type { SealedGiveBackContext } from './give-back-sealed-rows.ts'

type PasskeyContext = Pick<SealedGiveBackContext, 'trx' | 'places'>

/**
 * Gives passkeys back as they are here. Those that were deleted here, and were copied, end. A passkey whose bytes SQL of others
 * has spoilt is left out, see `listSpoiltCredentials`.
 */
export async function giveBackPasskeys({ trx, places }: PasskeyContext): Promise<void> {
  if (!(await hasRelation(trx, places.kept, 'webauthn_credentials'))) return
  const [old, own] = [sql.id(places.kept, 'webauthn_credentials'), places.names.id('webauthn_credentials')]
  // Passkeys of users who are gone were not copied.
  const isCopied = sql`o.user_id IN (SELECT id FROM ${places.names.id('users')})`
  await sql`DELETE FROM ${old} o WHERE ${isCopied} AND NOT EXISTS (SELECT FROM ${own} w WHERE w.id = o.id)`.execute(trx)
  await sql`
    INSERT INTO ${old} AS o (id, user_id, credential_id, public_key, sign_count, transports, backup_eligible, friendly_name,
        last_used_at, created_at, updated_at)
      SELECT w.id, w.user_id, ${fromBase64url(sql.ref('w.credential_id'))}, ${fromBase64url(sql.ref('w.public_key'))},
          w.sign_count, w.transports, w.backup_eligible, w.friendly_name, w.last_used_at, w.created_at, w.updated_at
        FROM ${own} w WHERE ${areReadable}
      ON CONFLICT (id) DO UPDATE SET sign_count = excluded.sign_count, friendly_name = excluded.friendly_name,
          last_used_at = excluded.last_used_at, updated_at = excluded.updated_at
        WHERE o.updated_at <> excluded.updated_at`.execute(trx)
}

/** Whether the bytes of the passkey `w` are texts in base64url. */
const areReadable = sql.join([sql.ref('w.credential_id'), sql.ref('w.public_key')].map(isBase64url), sql` AND `)

function isBase64url(text: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${text} ~ '^[A-Za-z0-9_+/-]*=*$' AND length(rtrim(${text}, '=')) % 4 <> 1)`
}

/** The bytes of a text in base64url. PostgreSQL may decode a text that the condition leaves out, so that one has none. */
function fromBase64url(text: RawBuilder<unknown>): RawBuilder<unknown> {
  const digits = sql`rtrim(translate(${text}, '-_', '+/'), '=')`
  return sql`CASE WHEN ${isBase64url(text)} THEN decode(rpad(${digits}, (length(${digits}) + 3) / 4 * 4, '='), 'base64') END`
}

/**
 * Lists the passkeys and security keys that an undo cannot give back because SQL of others has spoilt them: the table and the id
 * of each. At the old service those from before the switch stay as they were then. Later ones are lost.
 */
export async function listSpoiltCredentials(
  db: Kysely<unknown>,
  { names, kept }: AdoptionPlaces,
): Promise<readonly string[]> {
  const { rows: passkeys } = await sql<{ id: string }>`
    SELECT w.id FROM ${names.id('webauthn_credentials')} w WHERE NOT (${areReadable}) ORDER BY w.id`.execute(db)
  const { rows: factors } = await sql<{ id: string; credential: unknown }>`
    SELECT id, credential FROM ${names.id('mfa_factors')}
    WHERE factor_type::text = 'webauthn' AND credential IS NOT NULL ORDER BY id`.execute(db)
  const hasPasskeys = await hasRelation(db, kept, 'webauthn_credentials')
  return [
    ...(hasPasskeys ? passkeys : []).map(({ id }) => `webauthn_credentials ${id}`),
    ...factors
      .filter(({ credential }) => !StoredCredential.safeParse(credential).success)
      .map(({ id }) => `mfa_factors ${id}`),
  ]
}

/** Gives security keys back, in the form of supabase/auth where they are new or were used here. */
export async function giveBackWebauthnFactors({ trx, places }: PasskeyContext): Promise<void> {
  const factors = places.names.id('mfa_factors')
  const { rows } = await sql<{ id: string; credential: unknown; old: object | null }>`
    SELECT id, credential, web_authn_credential AS old FROM ${factors}
    WHERE factor_type = 'webauthn' AND credential IS NOT NULL AND (web_authn_credential IS NULL
      OR web_authn_credential #>> '{authenticator,signCount}' IS DISTINCT FROM credential ->> 'counter')`.execute(trx)
  for (const { id, credential: stored, old } of rows) {
    const { data: credential } = StoredCredential.safeParse(stored)
    if (credential === undefined) continue
    const written = JSON.stringify({ ...toUpstreamCredential(credential), ...old })
    await sql`
      UPDATE ${factors} SET web_authn_credential = jsonb_set(${written}::jsonb, '{authenticator,signCount}', to_jsonb(${credential.counter}::bigint))
      WHERE id = ${id}`.execute(trx)
  }
}

/**
 * A credential as supabase/auth stores it. Whether copies of it exist is not known, and supabase/auth learns it
 * from the next use. Whether they may exist must be as in the credential: supabase/auth refuses it otherwise.
 */
function toUpstreamCredential({ id, publicKey, counter, transports, backupEligible }: StoredCredential): object {
  const toBase64 = (text: string) => Buffer.from(text, 'base64url').toString('base64')
  return {
    id: toBase64(id),
    publicKey: toBase64(publicKey),
    attestationType: 'none',
    transport: transports,
    flags: { userPresent: true, userVerified: true, backupEligible, backupState: false },
    authenticator: { AAGUID: Buffer.alloc(16).toString('base64'), signCount: counter, cloneWarning: false },
  }
}
