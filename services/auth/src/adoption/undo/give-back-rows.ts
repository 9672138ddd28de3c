import { type Kysely, type RawBuilder, sql } from 'kysely'
import { StoredCredential } from '../../passkeys/credential.ts'
import { NIL_UUID } from '../../records/ids.ts'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import { type AdoptionPlaces, CODES, COPIED_CODES, lastCopiedToken } from '../adoption-record.ts'
import { COPIED_FLOWS, UNCOPIED_SESSIONS } from '../copy/copy-live-rows.ts'
import { takeBackBegunSessions } from '../copy/copy-refresh-tokens.ts'
import {
  closeFactors,
  giveBackProviders,
  giveBackTotpFactors,
  removeUnfitFactors,
  type SecretGiveBackContext,
} from './give-back-secrets.ts'

interface GiveBackContext extends SecretGiveBackContext {
  /** SECURITY_OTP_MAX_ATTEMPTS: after this many attempts, a code is invalid. */
  readonly codeAttemptsMax: number
  /** The newest migration of supabase/auth in the database. */
  readonly version: string
}

/** Writes the changes since the switch back to the tables of supabase/auth, in its format. */
export async function giveBackRows(context: GiveBackContext): Promise<void> {
  await endSessions(context)
  await takeBackBegunSessions(context.trx, context.places)
  await endUsedCodes(context)
  await endUsedFlows(context)
  await giveBackPasskeys(context)
  await removeUnfitFactors(context.trx, context)
  await giveBackTotpFactors(context)
  await giveBackProviders(context)
  await giveBackWebauthnFactors(context)
  await giveBackAuditLog(context)
  await closeFactors(context.trx, context.places)
  await fillTexts(context)
  await fillPasswords(context)
}

/**
 * The nullable columns that supabase/auth reads into a `string` or an `int` (its `internal/models`, at 2.196), and the value that
 * it writes instead of NULL. If one of them is NULL, it answers 500 to a request for the row, and to each page of users with the
 * row. `aud` and `role` are missing, because they decide who may sign in, and this service never writes NULL there.
 */
const NEVER_NULL: Readonly<Record<string, Readonly<Record<string, '' | 0>>>> = {
  users: {
    confirmation_token: '',
    recovery_token: '',
    email_change_token_current: '',
    email_change_token_new: '',
    email_change: '',
    email_change_confirm_status: 0,
    phone_change_token: '',
    phone_change: '',
    reauthentication_token: '',
  },
  mfa_factors: { friendly_name: '', secret: '' },
}

/**
 * Fills columns in which supabase/auth cannot read NULL. They are the secrets of phones and security keys, and columns of rows
 * that an application or an earlier build of this service has written.
 */
async function fillTexts({ trx, places: { names } }: GiveBackContext): Promise<void> {
  for (const [table, blanks] of Object.entries(NEVER_NULL)) {
    const present = await readColumns(trx, names.schema, table)
    const columns = Object.entries(blanks).filter(([column]) => present.has(column))
    const filled = columns.map(
      ([column, blank]) => sql`${sql.ref(column)} = coalesce(${sql.ref(column)}, ${sql.lit(blank)})`,
    )
    const lacking = columns.map(([column]) => sql`${sql.ref(column)} IS NULL`)
    // Do not change users without an instance. supabase/auth never reads their rows.
    const isRead = table === 'users' ? sql`instance_id IS NOT NULL` : sql`true`
    await sql`
      UPDATE ${names.id(table)} SET ${sql.join(filled)} WHERE ${isRead} AND (${sql.join(lacking, sql` OR `)})`.execute(
      trx,
    )
  }
}

/** Without this migration, the old service may be older than 2.155, which cannot read users with a NULL password. */
const READS_NO_PASSWORD = '20240729123726'

/** Fills NULL passwords if supabase/auth may be unable to read them. This service creates no SSO users. */
async function fillPasswords({ trx, places: { names }, version }: GiveBackContext): Promise<void> {
  if (version >= READS_NO_PASSWORD) return
  await sql`
    UPDATE ${names.id('users')} SET encrypted_password = ''
    WHERE encrypted_password IS NULL AND instance_id IS NOT NULL AND NOT is_sso_user`.execute(trx)
}

/**
 * Selects the sessions that must end. Some have started or were refreshed here, so the old service does not know their tokens. In
 * others, the copied token has been revoked here, for example after a theft. Clean-up deletes revoked tokens while the session
 * stays. Its old token or key would then continue the session.
 */
function endedSessions({ names, kept }: AdoptionPlaces): RawBuilder<unknown> {
  const own = names.id('refresh_tokens')
  return sql`
    SELECT t.session_id FROM ${own} t WHERE t.id > ${lastCopiedToken({ kept })}
    UNION SELECT k.session_id FROM ${sql.id(kept, 'refresh_tokens')} k
      WHERE k.session_id IS NOT NULL AND k.token <> '' AND NOT coalesce(k.revoked, false)
        AND NOT EXISTS (SELECT FROM ${own} t WHERE t.id = k.id AND NOT t.revoked)
    UNION SELECT s.id FROM ${names.id('sessions')} s
      WHERE s.refresh_token_hmac_key IS NOT NULL AND s.refresh_token_counter IS NOT NULL
        AND NOT EXISTS (SELECT FROM ${own} t WHERE t.session_id = s.id AND NOT t.revoked)
        AND NOT EXISTS (SELECT FROM ${sql.id(kept, UNCOPIED_SESSIONS)} u WHERE u.id = s.id)`
}

/** The number of present sessions, and of those that an undo would end. */
export interface SessionCounts {
  /** Sessions that have started, were refreshed, or ended by a theft since the switch. Their users have to sign in again. */
  readonly ended: number
  readonly all: number
}

export async function countEndedSessions(db: Kysely<unknown>, places: AdoptionPlaces): Promise<SessionCounts> {
  const { rows } = await sql<SessionCounts>`
    WITH ended AS MATERIALIZED (${endedSessions(places)})
    SELECT count(*)::int AS "all", (count(*) FILTER (WHERE id IN (SELECT session_id FROM ended)))::int AS ended
    FROM ${places.names.id('sessions')}`.execute(db)
  return rows[0] ?? { ended: 0, all: 0 }
}

/** The largest counter to which supabase/auth can still add. SQL may have set a greater value. */
const COUNTER_MAX = 2n ** 63n - 3n

/** Makes sure that a used token of either form returns no new tokens. No tokens can be derived for a session without a key. */
async function endSessions({ trx, places }: GiveBackContext): Promise<void> {
  const max = sql.lit(COUNTER_MAX)
  await sql`
    WITH ended AS MATERIALIZED (${endedSessions(places)}),
    gone AS (
      DELETE FROM ${sql.id(places.kept, 'refresh_tokens')} WHERE session_id IN (SELECT session_id FROM ended))
    UPDATE ${places.names.id('sessions')} SET
        refresh_token_hmac_key = CASE WHEN refresh_token_counter <= ${max} THEN refresh_token_hmac_key END,
        refresh_token_counter = CASE WHEN refresh_token_counter <= ${max} THEN refresh_token_counter + 2 END
      WHERE refresh_token_counter IS NOT NULL AND id IN (SELECT session_id FROM ended)`.execute(trx)
}

/**
 * Ends codes that were no longer usable here. Without this step, a code without remaining attempts would work again at
 * supabase/auth, which counts no attempts and derives its link from the code. The same holds for the code of a user who has been
 * confirmed or has another address since. It also holds for a code that was not copied, such as an expired code, if its user has
 * changed since. `users` may then have the time of a later message, by which supabase/auth judges the code.
 */
async function endUsedCodes({ trx, places: { names, kept }, codeAttemptsMax }: GiveBackContext): Promise<void> {
  const [users, copied] = [names.id('users'), sql.id(kept, COPIED_CODES)]
  for (const { kind, token, sentAt, address, when } of CODES) {
    const kinds = CODES.filter((place) => place.token === token).map((place) => place.kind)
    const used = sql`
      SELECT u.id FROM ${users} u JOIN ${copied} c ON c.user_id = u.id AND c.kind = ${kind}
        WHERE ${sql.ref(`u.${sentAt}`)} IS DISTINCT FROM c.sent_at OR NOT EXISTS (
          SELECT FROM ${names.id('one_time_tokens')} t
          WHERE t.user_id = c.user_id AND t.kind = c.kind AND t.otp_hash = c.otp_hash AND t.guesses < ${codeAttemptsMax}
            AND t.relates_to = ${address} AND ${when})
      UNION ALL SELECT u.id FROM ${users} u, ${sql.id(kept, 'adoption')} a
        WHERE greatest(${sql.ref(`u.${sentAt}`)}, u.updated_at) > a.last_change
          AND NOT EXISTS (SELECT FROM ${copied} c WHERE c.user_id = u.id AND c.kind = ANY (${kinds}::text[]))`
    await sql`UPDATE ${users} SET ${sql.ref(token)} = '' WHERE ${sql.ref(token)} <> '' AND id IN (${used})`.execute(trx)
    if (await hasRelation(trx, kept, 'one_time_tokens')) {
      await sql`
        DELETE FROM ${sql.id(kept, 'one_time_tokens')} WHERE token_type::text = ${token} AND user_id IN (${used})`.execute(
        trx,
      )
    }
  }
}

/** Ends flows that continued here. Their codes must return no tokens again, and no provider's answer may count twice. */
async function endUsedFlows({ trx, places }: GiveBackContext): Promise<void> {
  if (!(await hasRelation(trx, places.kept, 'flow_state'))) return
  await sql`
    DELETE FROM ${sql.id(places.kept, 'flow_state')} f USING ${sql.id(places.kept, COPIED_FLOWS)} c
    WHERE c.id = f.id AND NOT EXISTS (
      SELECT FROM ${places.names.id('flow_state')} o
      WHERE o.id = c.id AND o.claimed_at IS NULL AND o.auth_code_hash IS NOT DISTINCT FROM c.auth_code_hash)`.execute(
    trx,
  )
}

/**
 * Writes new entries back: those without the id of a copied entry, even if a clock was wrong. ON CONFLICT is not possible,
 * because a rule may keep the old service from writing entries. Does nothing if the table was dropped.
 */
async function giveBackAuditLog({ trx, places }: GiveBackContext): Promise<void> {
  if (!(await hasRelation(trx, places.kept, 'audit_log_entries'))) return
  const old = sql.id(places.kept, 'audit_log_entries')
  await sql`
    INSERT INTO ${old} (instance_id, id, payload, created_at, ip_address)
      SELECT ${NIL_UUID}::uuid, e.id, e.payload::json, e.created_at, left(e.ip_address, 64)
      FROM ${places.names.id('audit_log_entries')} e
      WHERE NOT EXISTS (SELECT FROM ${old} o WHERE o.id = e.id)`.execute(trx)
}

/** Counts users whose hash format supabase/auth does not know. They cannot sign in by password after an undo. */
export async function countForeignHashes(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('users')}
    WHERE encrypted_password ~ '^[$](scrypt|pbkdf2|firebase-scrypt)'`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

type PasskeyContext = Pick<SecretGiveBackContext, 'trx' | 'places'>

/**
 * Writes passkeys back as they are here. Deletes copied passkeys that were deleted here. Leaves out passkeys whose bytes were
 * damaged by SQL (see `listSpoiltCredentials`).
 */
async function giveBackPasskeys({ trx, places }: PasskeyContext): Promise<void> {
  if (!(await hasRelation(trx, places.kept, 'webauthn_credentials'))) return
  const [old, own] = [sql.id(places.kept, 'webauthn_credentials'), places.names.id('webauthn_credentials')]
  // Passkeys of deleted users were not copied.
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

/** A condition: the bytes of the passkey `w` are valid base64url. */
const areReadable = sql.join([sql.ref('w.credential_id'), sql.ref('w.public_key')].map(isBase64url), sql` AND `)

function isBase64url(text: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${text} ~ '^[A-Za-z0-9_+/-]*=*$' AND length(rtrim(${text}, '=')) % 4 <> 1)`
}

/** Decodes base64url. The CASE guards against text that PostgreSQL evaluates although the condition excludes it. */
function fromBase64url(text: RawBuilder<unknown>): RawBuilder<unknown> {
  const digits = sql`rtrim(translate(${text}, '-_', '+/'), '=')`
  return sql`CASE WHEN ${isBase64url(text)} THEN decode(rpad(${digits}, (length(${digits}) + 3) / 4 * 4, '='), 'base64') END`
}

/**
 * Lists the passkeys and security keys that an undo cannot write back because other programs have damaged them by SQL, with table
 * and id. Those from before the switch keep their old state at the old service. Later ones are lost.
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

/** Writes security keys back in the format of supabase/auth, if they are new or were used here. */
async function giveBackWebauthnFactors({ trx, places }: PasskeyContext): Promise<void> {
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
 * Returns a credential in the format of supabase/auth. `backupState` is not known here, and supabase/auth updates it at the next
 * use. `backupEligible` must be the value in the credential, because otherwise supabase/auth refuses the credential.
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
