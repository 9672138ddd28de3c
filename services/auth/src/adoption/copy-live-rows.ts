import { type Kysely, type RawBuilder, sql } from 'kysely'
import { NIL_UUID } from '../records/ids.ts'
import type { AdoptionPlaces } from './adoption-record.ts'
import { hasRelation } from './catalog.ts'

/** How long what the old service has made still counts. */
export interface Lifetimes {
  readonly now: Date
  readonly mailCodeSeconds: number
  readonly smsCodeSeconds: number
  readonly flowSeconds: number
}

/** What a copy reads and writes: tables of supabase/auth, and those of this service. */
export interface CopyContext {
  readonly trx: Kysely<unknown>
  /** `kept`: the schema of the tables of supabase/auth. */
  readonly places: Pick<AdoptionPlaces, 'names' | 'kept'>
  /** The users whose rows are copied: a table with the columns of `users` in supabase/auth. */
  readonly users: RawBuilder<unknown>
  readonly lifetimes: Lifetimes
}

/** The bytes of an expression of type bytea, in base64url. */
function base64url(bytes: RawBuilder<unknown>): RawBuilder<unknown> {
  return toUrlAlphabet(sql`encode(${bytes}, 'base64')`)
}

function toUrlAlphabet(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`rtrim(translate(${text}, E'+/\n', '-_'), '=')`
}

/**
 * Copies what is in use of tables of supabase/auth: passkeys and codes that have not been used. The credentials of WebAuthn
 * factors get the form of this service, in a column of its own.
 */
export async function copyLiveRows(context: CopyContext): Promise<void> {
  const { trx, places, users } = context
  await sql`
    UPDATE ${places.names.id('mfa_factors')} f SET credential = jsonb_build_object(
        'id', ${toUrlAlphabet(sql`f.web_authn_credential ->> 'id'`)},
        'publicKey', ${toUrlAlphabet(sql`f.web_authn_credential ->> 'publicKey'`)},
        'counter', coalesce((f.web_authn_credential #>> '{authenticator,signCount}')::bigint, 0),
        'transports', coalesce(nullif(f.web_authn_credential -> 'transport', 'null'), '[]'))
      WHERE f.factor_type = 'webauthn' AND f.status = 'verified' AND f.web_authn_credential ? 'publicKey'
        AND EXISTS (SELECT FROM ${users} u WHERE u.id = f.user_id)`.execute(trx)
  if (await hasRelation(trx, places.kept, 'webauthn_credentials')) await copyPasskeys(context)
  await copyCodes(context)
}

async function copyPasskeys({ trx, places }: CopyContext): Promise<void> {
  await sql`
    INSERT INTO ${places.names.id('webauthn_credentials')}
        (id, user_id, credential_id, public_key, sign_count, transports, friendly_name, last_used_at, created_at, updated_at)
      SELECT id, user_id, ${base64url(sql.ref('credential_id'))}, ${base64url(sql.ref('public_key'))}, sign_count, transports,
          friendly_name, last_used_at, created_at, updated_at
        FROM ${sql.id(places.kept, 'webauthn_credentials')}`.execute(trx)
}

interface CodePlace {
  readonly kind: string
  readonly address: RawBuilder<unknown>
  /** The column of `users` with the token of the link, which is the hash of address and code. */
  readonly token: string
  readonly sentAt: string
  readonly when: RawBuilder<unknown>
  /** How flows name what the message was for; null: the message is an SMS. */
  readonly methods: readonly string[] | null
}

/** Where a switch notes which codes it has copied. */
export const COPIED_CODES = 'copied_codes'

/** The codes that the old service may wait for, and where it keeps them. */
export const CODES: readonly CodePlace[] = [
  {
    kind: 'confirmation',
    address: sql`lower(u.email)`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.email <> '' AND u.email_confirmed_at IS NULL`,
    methods: ['email/signup', 'invite', 'magiclink'],
  },
  {
    kind: 'sms',
    address: sql`u.phone`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.phone <> '' AND (coalesce(u.email, '') = '' OR u.email_confirmed_at IS NOT NULL)`,
    methods: null,
  },
  {
    kind: 'recovery',
    address: sql`lower(u.email)`,
    token: 'recovery_token',
    sentAt: 'recovery_sent_at',
    when: sql`u.email <> ''`,
    methods: ['recovery', 'magiclink'],
  },
  {
    kind: 'email_change_new',
    address: sql`lower(u.email_change)`,
    token: 'email_change_token_new',
    sentAt: 'email_change_sent_at',
    when: sql`u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'email_change_current',
    address: sql`lower(u.email)`,
    token: 'email_change_token_current',
    sentAt: 'email_change_sent_at',
    when: sql`u.email <> '' AND u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'phone_change',
    address: sql`u.phone_change`,
    token: 'phone_change_token',
    sentAt: 'phone_change_sent_at',
    when: sql`u.phone_change <> ''`,
    methods: null,
  },
  {
    kind: 'reauthentication',
    address: sql`coalesce(nullif(lower(u.email), ''), u.phone)`,
    token: 'reauthentication_token',
    sentAt: 'reauthentication_sent_at',
    when: sql`coalesce(nullif(u.email, ''), u.phone) <> ''`,
    methods: null,
  },
]

/**
 * Every version keeps the codes that it waits for in columns of `users` too. The flows must have been copied: a link of a PKCE flow
 * ends in an auth code.
 */
async function copyCodes({ trx, places, users, lifetimes }: CopyContext): Promise<void> {
  const { names } = places
  for (const { kind, address, token, sentAt, when, methods } of CODES) {
    const seconds = kind === 'sms' || kind === 'phone_change' ? lifetimes.smsCodeSeconds : lifetimes.mailCodeSeconds
    const [secret, sent] = [sql.ref(`u.${token}`), sql.ref(`u.${sentAt}`)]
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
          -- The first condition is that of a unique index.
          WHERE ${secret} !~ '^[0-9 ]*$' AND ${digits} ~ '^[0-9a-f]{56}$' AND ${when}
            AND ${sent} + make_interval(secs => ${seconds}) > ${lifetimes.now}`.execute(trx)
  }
}

/** Notes which codes a switch has copied. */
export async function noteCopiedCodes({ trx, places }: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  await sql`
    CREATE TABLE ${sql.id(places.kept, COPIED_CODES)} AS
      SELECT user_id, kind, otp_hash FROM ${places.names.id('one_time_tokens')}`.execute(trx)
}

const BATCH_ENTRIES = 10_000

/**
 * Copies the entries of the audit log, some at a time. Those that a run before has copied stay.
 * @returns how many were copied
 */
export async function copyAuditLog(db: Kysely<unknown>, { names, kept }: CopyContext['places']): Promise<number> {
  let after = NIL_UUID
  let copied = 0
  for (;;) {
    const { rows } = await sql<{ last: string | null; copied: string }>`
      WITH batch AS (
        SELECT id, payload::jsonb AS payload, created_at, ip_address FROM ${sql.id(kept, 'audit_log_entries')}
        WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(BATCH_ENTRIES)}),
      copied AS (
        INSERT INTO ${names.id('audit_log_entries')}
            (id, actor_id, target_user_id, action, log_type, ip_address, created_at, payload)
          SELECT id, ${idOf(sql`payload ->> 'actor_id'`)}, ${idOf(sql`payload #>> '{traits,user_id}'`)},
              coalesce(payload ->> 'action', ''), coalesce(payload ->> 'log_type', ''), ip_address, coalesce(created_at, 'epoch'),
              payload
            FROM batch WHERE payload IS NOT NULL ON CONFLICT (id) DO NOTHING RETURNING id)
      SELECT max(id::text) AS last, (SELECT count(*) FROM copied) AS copied FROM batch`.execute(db)
    const last = rows[0]?.last ?? null
    copied += Number(rows[0]?.copied ?? 0)
    if (last === null) return copied
    after = last
  }
}

/** A text as an id. The nil UUID stands for a caller who is no user. */
function idOf(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN ${text} ~ '^[0-9a-f-]{36}$' THEN nullif((${text})::uuid, ${sql.lit(NIL_UUID)}) END`
}
