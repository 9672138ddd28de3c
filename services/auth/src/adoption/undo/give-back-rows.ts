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
  /** SECURITY_OTP_MAX_ATTEMPTS: after so many attempts, a code is dead. */
  readonly codeAttemptsMax: number
  /** The newest migration of supabase/auth in the database. */
  readonly version: string
}

/** Writes the changes since the switch back to the tables of supabase/auth, in their form. */
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
 * it writes there for none. It answers 500 to a request for a row with NULL in one of them, and for each page of users with such
 * a row. `aud` and `role` are not among them: they decide who may sign in, and nothing here writes NULL there.
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
 * Fills columns whose NULL supabase/auth cannot read. They are secrets of phones and security keys, and columns of rows that an
 * application or an earlier build of this service has written.
 */
async function fillTexts({ trx, places: { names } }: GiveBackContext): Promise<void> {
  for (const [table, blanks] of Object.entries(NEVER_NULL)) {
    const present = await readColumns(trx, names.schema, table)
    const columns = Object.entries(blanks).filter(([column]) => present.has(column))
    const filled = columns.map(
      ([column, blank]) => sql`${sql.ref(column)} = coalesce(${sql.ref(column)}, ${sql.lit(blank)})`,
    )
    const lacking = columns.map(([column]) => sql`${sql.ref(column)} IS NULL`)
    // A user without an instance is nobody to supabase/auth, which never reads the row: it stays as it is.
    const isRead = table === 'users' ? sql`instance_id IS NOT NULL` : sql`true`
    await sql`
      UPDATE ${names.id(table)} SET ${sql.join(filled)} WHERE ${isRead} AND (${sql.join(lacking, sql` OR `)})`.execute(
      trx,
    )
  }
}

/** Without this migration, the old service may be older than 2.155, the first version that reads users whose password is NULL. */
const READS_NO_PASSWORD = '20240729123726'

/** Fills the passwords of users who have none, where supabase/auth may be unable to read NULL. No user of SSO is made here. */
async function fillPasswords({ trx, places: { names }, version }: GiveBackContext): Promise<void> {
  if (version >= READS_NO_PASSWORD) return
  await sql`
    UPDATE ${names.id('users')} SET encrypted_password = ''
    WHERE encrypted_password IS NULL AND instance_id IS NOT NULL AND NOT is_sso_user`.execute(trx)
}

/**
 * The sessions that have begun or refreshed here, whose tokens the old service does not know, and those whose copied tokens have
 * ended here. A theft revokes every token of its session. Clean-up deletes revoked tokens while the session stays, so its old
 * token, or the key of its token, would continue the session.
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

/** How many of the sessions that are there would end by an undo. */
export interface SessionCounts {
  /** The sessions that have begun, refreshed or ended by a theft since the switch. Their users have to sign in again. */
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

/** The counters to which supabase/auth can add the end of a token. SQL may have set a greater one. */
const COUNTER_MAX = 2n ** 63n - 3n

/** A spent token must fetch nothing again, in either form. None follows from a session without a key. */
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
 * Ends the codes that were no longer usable here. A code without attempts left would work at supabase/auth again, which counts
 * none and makes its link of the code. So would the code of a user who is confirmed or has another address since, and a code that
 * was not copied, such as an expired one, if its user has changed since: `users` may have the time of a later message, by which
 * supabase/auth judges the code.
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

/** A flow that has gone on here ends: its code must fetch nothing again, and a provider's answer must not count twice. */
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
 * The copies of old entries have the old ids, so the others are new, even if a clock was wrong. A rule may keep the old service
 * from writing entries, and PostgreSQL takes no ON CONFLICT then. The table may have been dropped.
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

/** Counts the users who cannot sign in by password any more after undo: the form of their hash is unknown to supabase/auth. */
export async function countForeignHashes(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('users')}
    WHERE encrypted_password ~ '^[$](scrypt|pbkdf2|firebase-scrypt)'`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

type PasskeyContext = Pick<SecretGiveBackContext, 'trx' | 'places'>

/**
 * Gives passkeys back as they are here. Those that were deleted here, and were copied, end. A passkey whose bytes SQL of others
 * has spoilt is left out, see `listSpoiltCredentials`.
 */
async function giveBackPasskeys({ trx, places }: PasskeyContext): Promise<void> {
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
