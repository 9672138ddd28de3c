import { type RawBuilder, sql } from 'kysely'
import type { StoredCredential } from '../../passkeys/credential.ts'
import { hasRelation } from '../catalog.ts'
import type { SealedGiveBackContext } from './give-back-sealed-rows.ts'

type PasskeyContext = Pick<SealedGiveBackContext, 'trx' | 'places'>

/** Gives passkeys back as they are here. Those that were deleted here, and were copied, end. */
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
        FROM ${own} w
      ON CONFLICT (id) DO UPDATE SET sign_count = excluded.sign_count, friendly_name = excluded.friendly_name,
          last_used_at = excluded.last_used_at, updated_at = excluded.updated_at
        WHERE o.updated_at <> excluded.updated_at`.execute(trx)
}

/** The bytes of a text in base64url. */
function fromBase64url(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`decode(rpad(translate(${text}, '-_', '+/'), (length(${text}) + 3) / 4 * 4, '='), 'base64')`
}

/** Gives security keys back, in the form of supabase/auth where they are new or were used here. */
export async function giveBackWebauthnFactors({ trx, places }: PasskeyContext): Promise<void> {
  const factors = places.names.id('mfa_factors')
  const { rows } = await sql<{ id: string; credential: StoredCredential; old: object | null }>`
    SELECT id, credential, web_authn_credential AS old FROM ${factors}
    WHERE factor_type = 'webauthn' AND credential IS NOT NULL AND (web_authn_credential IS NULL
      OR web_authn_credential #>> '{authenticator,signCount}' IS DISTINCT FROM credential ->> 'counter')`.execute(trx)
  for (const { id, credential, old } of rows) {
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
