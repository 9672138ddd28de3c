import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { CODES, COPIED_CODES } from '../upstream-codes.ts'
import type { Lifetimes } from './lifetimes.ts'

/** The tables that a copy reads and writes: tables of supabase/auth and of this service. */
export interface CopyContext {
  readonly trx: Kysely<unknown>
  /** `kept`: the schema of the tables of supabase/auth. */
  readonly places: Pick<AdoptionPlaces, 'names' | 'kept'>
  /** The users whose rows are copied: a table with the columns of `users` in supabase/auth. */
  readonly users: RawBuilder<unknown>
  readonly lifetimes: Lifetimes
}

/**
 * Copies passkeys and unused codes from tables of supabase/auth. The credentials of WebAuthn
 * factors get the form of this service, in a column of its own.
 */
export async function copyLiveRows(context: CopyContext): Promise<void> {
  const { trx, places, users } = context
  await sql`
    UPDATE ${places.names.id('mfa_factors')} f SET credential = jsonb_build_object(
        'id', ${toUrlAlphabet(sql`f.web_authn_credential ->> 'id'`)},
        'publicKey', ${toUrlAlphabet(sql`f.web_authn_credential ->> 'publicKey'`)},
        'counter', coalesce((f.web_authn_credential #>> '{authenticator,signCount}')::bigint, 0),
        'transports', coalesce(nullif(f.web_authn_credential -> 'transport', 'null'), '[]'),
        'backupEligible', coalesce(f.web_authn_credential #> '{flags,backupEligible}' = 'true', false))
      WHERE f.factor_type = 'webauthn' AND f.status = 'verified' AND f.web_authn_credential ? 'publicKey'
        AND coalesce(f.web_authn_credential #>> '{authenticator,signCount}', '0') ~ ${COUNTER_FORM}::text
        AND EXISTS (SELECT FROM ${users} u WHERE u.id = f.user_id)`.execute(trx)
  if (await hasRelation(trx, places.kept, 'webauthn_credentials')) await copyPasskeys(context)
  await copyCodes(context)
}

/**
 * SQL of a time as a copy writes it: at the latest `now`. A row with a time in the future would count until that time has come,
 * beyond every lifetime, and clean-up would keep it.
 */
export function notAfter(time: RawBuilder<unknown>, now: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN ${time} > ${now} THEN ${now} ELSE ${time} END`
}

/** A signature counter of WebAuthn, which has 32 bits. */
export const COUNTER_FORM = '^[0-9]{1,10}$'

/** The bytes of an expression of type bytea, in base64url. */
export function base64url(bytes: RawBuilder<unknown>): RawBuilder<unknown> {
  return toUrlAlphabet(sql`encode(${bytes}, 'base64')`)
}

function toUrlAlphabet(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`rtrim(translate(${text}, E'+/\n', '-_'), '=')`
}

/** Under `session_replication_role = replica`, as in a restore, rows may stay of users who are gone. */
async function copyPasskeys({ trx, places, users }: CopyContext): Promise<void> {
  await sql`
    INSERT INTO ${places.names.id('webauthn_credentials')}
        (id, user_id, credential_id, public_key, sign_count, transports, backup_eligible, friendly_name, last_used_at,
          created_at, updated_at)
      SELECT id, user_id, ${base64url(sql.ref('credential_id'))}, ${base64url(sql.ref('public_key'))}, sign_count, transports,
          backup_eligible, friendly_name, last_used_at, created_at, updated_at
        FROM ${sql.id(places.kept, 'webauthn_credentials')} c
        WHERE EXISTS (SELECT FROM ${users} u WHERE u.id = c.user_id)`.execute(trx)
}

/**
 * Every version keeps the codes that it waits for in columns of `users` too. The flows must have been copied:
 * a link of a PKCE flow ends in an auth code.
 */
async function copyCodes({ trx, places, users, lifetimes }: CopyContext): Promise<void> {
  const { names } = places
  for (const { kind, address, token, sentAt, when, methods } of CODES) {
    const seconds = kind === 'sms' || kind === 'phone_change' ? lifetimes.smsCodeSeconds : lifetimes.mailCodeSeconds
    const oldest = new Date(lifetimes.now.getTime() - seconds * 1_000)
    const secret = sql.ref(`u.${token}`)
    const sent = notAfter(sql.ref(`u.${sentAt}`), sql`${lifetimes.now}::timestamptz`)
    const digits = sql`replace(${secret}, 'pkce_', '')`
    const flow = sql`(
      SELECT f.id FROM ${names.id('flow_state')} f
      WHERE f.user_id = u.id AND f.authentication_method = ANY (${methods ?? []}::text[]) AND starts_with(${secret}, 'pkce_')
      ORDER BY f.created_at DESC LIMIT 1)`
    await sql`
      INSERT INTO ${names.id('one_time_tokens')}
          (user_id, kind, relates_to, link_hash, otp_hash, flow_state_id, sent_at, expires_at)
        SELECT u.id, ${kind}, ${address},
            ${methods === null ? sql`NULL` : sql`sha256(convert_to(${secret}, 'UTF8'))`}, decode(${digits}, 'hex'), ${flow},
            ${sent}, ${sent} + make_interval(secs => ${seconds})
          FROM ${users} u
          -- The cheapest condition comes first: codes of sign-ups that nobody has confirmed stay, and most have expired.
          WHERE ${sent} > ${oldest}::timestamptz
            AND ${secret} !~ '^[0-9 ]*$' AND ${digits} ~ '^[0-9a-f]{56}$' AND ${when}`.execute(trx)
  }
}

/**
 * Copies the open challenges of authenticator apps, so that a user who is typing a code need not begin anew. The other types of
 * factors are challenged anew: the hash of a code by SMS is another one here, and a WebAuthn challenge has another form.
 * @param lifetimeSeconds how long a challenge counts
 */
export async function copyChallenges(
  { trx, places: { names, kept }, lifetimes: { now } }: CopyContext,
  lifetimeSeconds: number,
): Promise<void> {
  await sql`
    INSERT INTO ${names.id('mfa_challenges')} (id, factor_id, ip, created_at)
      SELECT c.id, c.factor_id, c.ip_address, ${notAfter(sql.ref('c.created_at'), sql`${now}::timestamptz`)}
        FROM ${sql.id(kept, 'mfa_challenges')} c JOIN ${names.id('mfa_factors')} f ON f.id = c.factor_id
        WHERE f.factor_type = 'totp' AND c.verified_at IS NULL
          AND c.created_at > ${now}::timestamptz - make_interval(secs => ${lifetimeSeconds})`.execute(trx)
}

/**
 * Takes the future out of the times of sessions and proofs, which stay: a session could last beyond each limit. The clock of the
 * database has written them and judges them later.
 */
export async function boundSessionTimes({
  trx,
  places: { names },
}: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  const [moment, utc] = [sql`clock_timestamp()`, sql`(clock_timestamp() AT TIME ZONE 'UTC')`]
  const times = {
    sessions: { created_at: moment, updated_at: moment, refreshed_at: utc },
    mfa_amr_claims: { created_at: moment, updated_at: moment },
  }
  for (const [table, columns] of Object.entries(times)) {
    const bounds = Object.entries(columns).map(([name, bound]) => ({ column: sql.id(name), bound }))
    await sql`
      UPDATE ${names.id(table)} SET ${sql.join(bounds.map(({ column, bound }) => sql`${column} = ${notAfter(column, bound)}`))}
      WHERE ${sql.join(
        bounds.map(({ column, bound }) => sql`${column} > ${bound}`),
        sql` OR `,
      )}`.execute(trx)
  }
}

/** The table of the flows that a switch has copied. */
export const COPIED_FLOWS = 'copied_flows'
/** The table of the custom providers that a switch has copied. */
export const COPIED_PROVIDERS = 'copied_providers'
/** The table of the sessions whose tokens a switch could not copy. */
export const UNCOPIED_SESSIONS = 'uncopied_sessions'

/** Records the copied codes, flows and providers, so that undo sees which of them were used, changed or deleted since. */
export async function recordCopies({
  trx,
  places: { names, kept },
}: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  const copies = [
    [COPIED_CODES, sql`user_id, kind, otp_hash, sent_at`, 'one_time_tokens'],
    [COPIED_FLOWS, sql`id, auth_code_hash`, 'flow_state'],
    [COPIED_PROVIDERS, sql`id, updated_at`, 'custom_oauth_providers'],
  ] as const
  for (const [name, columns, table] of copies)
    await sql`CREATE TABLE ${sql.id(kept, name)} AS SELECT ${columns} FROM ${names.id(table)}`.execute(trx)
}

/**
 * Records the sessions of the second form without a token here: no setting has the key that seals the key of
 * their tokens. They never ended here, so undo gives them back.
 */
export async function recordUncopiedSessions({
  trx,
  places: { names, kept },
}: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  await sql`
    CREATE TABLE ${sql.id(kept, UNCOPIED_SESSIONS)} AS
      SELECT s.id FROM ${names.id('sessions')} s
      WHERE s.refresh_token_hmac_key IS NOT NULL AND s.refresh_token_counter IS NOT NULL
        AND NOT EXISTS (SELECT FROM ${names.id('refresh_tokens')} t WHERE t.session_id = s.id AND NOT t.revoked)`.execute(
    trx,
  )
}

/** Records that the tokens of all sessions were copied. Requests wait meanwhile, so it looks at no session. */
export async function recordAllSessionsCopied({
  trx,
  places: { names, kept },
}: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  await sql`
    CREATE TABLE ${sql.id(kept, UNCOPIED_SESSIONS)} AS SELECT id FROM ${names.id('sessions')} WITH NO DATA`.execute(trx)
}
