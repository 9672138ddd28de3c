import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthConfig } from '../../config.ts'
import { CustomProviderSettings } from '../../external-providers/custom-provider.ts'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import { type Encryption, encryptOptional, encryptSecret, readUpstreamSecret } from '../../secrets/encrypted-secret.ts'
import { type AdoptionPlaces, CODES, COPIED_CODES } from '../adoption-record.ts'

interface CopyContext {
  readonly trx: Kysely<unknown>
  /** `kept`: the schema of the tables of supabase/auth. */
  readonly places: Pick<AdoptionPlaces, 'names' | 'kept'>
  /** The users whose rows are copied, as a table with the columns of `users` in supabase/auth. */
  readonly users: RawBuilder<unknown>
  readonly lifetimes: Lifetimes
}

/** Copies the passkeys and unused codes of supabase/auth, and the credentials of WebAuthn factors. */
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
 * Returns SQL for a time that is limited to `now`. Otherwise a row with a time in the future would stay valid beyond its
 * lifetime, and clean-up would keep it.
 */
export function notAfter(time: RawBuilder<unknown>, now: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN ${time} > ${now} THEN ${now} ELSE ${time} END`
}

/** Matches a signature counter of WebAuthn, which has 32 bits. */
export const COUNTER_FORM = '^[0-9]{1,10}$'

export function base64url(bytes: RawBuilder<unknown>): RawBuilder<unknown> {
  return toUrlAlphabet(sql`encode(${bytes}, 'base64')`)
}

function toUrlAlphabet(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`rtrim(translate(${text}, E'+/\n', '-_'), '=')`
}

/** A restore under `session_replication_role = replica` can leave rows of deleted users. */
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
 * Copies the unused codes. Every version of supabase/auth also stores its open codes in columns of `users`. The flows must be
 * copied first, because a link of a PKCE flow ends with an auth code.
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
 * Copies the open challenges of authenticator apps, so that a user who is typing a code need not start again. Other types of
 * factors need a new challenge: this service hashes SMS codes differently, and a WebAuthn challenge has another form.
 * @param lifetimeSeconds the lifetime of a challenge
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
 * Limits the times of sessions and of their authentication methods to the current time. With a time in the future, a session
 * could last beyond its limits. Uses the clock of the database, which has written these times and compares them later.
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

export const COPIED_FLOWS = 'copied_flows'
export const COPIED_PROVIDERS = 'copied_providers'
/** The table of the sessions with tokens that a switch could not copy. */
export const UNCOPIED_SESSIONS = 'uncopied_sessions'

/** Records the copied codes, flows and providers, so that undo can find those that were used, changed or deleted since. */
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
 * Records the sessions with derived tokens that have no token here. No setting contains the key that decrypts the token key of
 * these sessions. The sessions never ended here, so undo restores them.
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

/** Records that the tokens of all sessions were copied. Reads no session, because requests wait meanwhile. */
export async function recordAllSessionsCopied({
  trx,
  places: { names, kept },
}: Pick<CopyContext, 'trx' | 'places'>): Promise<void> {
  await sql`
    CREATE TABLE ${sql.id(kept, UNCOPIED_SESSIONS)} AS SELECT id FROM ${names.id('sessions')} WITH NO DATA`.execute(trx)
}

/** The lifetimes of codes and flows of the old service. */
export interface Lifetimes {
  readonly now: Date
  readonly mailCodeSeconds: number
  readonly smsCodeSeconds: number
  readonly flowSeconds: number
}

/** Returns the lifetimes that decide whether codes and flows of supabase/auth are still open. */
export function lifetimesOf(
  { mail, sms, external }: Pick<AuthConfig, 'mail' | 'sms' | 'external'>,
  now: Date,
): Lifetimes {
  return {
    now,
    mailCodeSeconds: mail.codeLifetimeSeconds,
    smsCodeSeconds: sms.codeLifetimeSeconds,
    flowSeconds: external.flowStateLifetimeMs / 1_000,
  }
}

export interface SecretCopyContext extends CopyContext {
  readonly encryption: Encryption
}

interface OldFlow {
  readonly id: string
  readonly access: string | null
  readonly refresh: string | null
}

/** A flow has at most two provider tokens. This process encrypts them. */
const BATCH_FLOWS = 1_000

/**
 * Copies the flows that are still open, except those of deleted users. If the old service has issued the code of a flow, the flow
 * waits for the exchange of this code. One statement copies all flows, because anyone may begin any number of flows, and requests
 * wait meanwhile.
 */
export async function copyFlows(context: SecretCopyContext): Promise<void> {
  const { trx, places, lifetimes } = context
  if (!(await hasRelation(trx, places.kept, 'flow_state'))) return
  const { names } = places
  const column = await readColumns(trx, places.kept, 'flow_state')
  const columnOrNull = (name: string, type: string): RawBuilder<unknown> =>
    column.has(name) ? sql.ref(`f.${name}`) : sql`NULL::${sql.raw(type)}`
  const target = columnOrNull('linking_target_id', 'uuid')
  const isThere = (id: RawBuilder<unknown>) =>
    sql`(${id} IS NULL OR EXISTS (SELECT FROM ${names.id('users')} u WHERE u.id = ${id}))`
  // Versions without the column `auth_code_issued_at` issue the code when the flow gets its user.
  const now = sql`${lifetimes.now}::timestamptz`
  const issued = column.has('auth_code_issued_at')
    ? notAfter(sql.ref('f.auth_code_issued_at'), now)
    : sql`CASE WHEN f.user_id IS NOT NULL THEN ${notAfter(sql.ref('f.updated_at'), now)} END`
  const begun = notAfter(sql.ref('f.created_at'), now)
  await sql`
    INSERT INTO ${names.id('flow_state')} (id, user_id, provider_type, authentication_method, code_challenge,
        code_challenge_method, auth_code_hash, auth_code_issued_at, redirect_to, linking_target_id, email_optional, created_at)
      SELECT f.id, f.user_id, f.provider_type, f.authentication_method, f.code_challenge, f.code_challenge_method::text,
          CASE WHEN ${issued} IS NOT NULL AND f.auth_code <> '' THEN sha256(convert_to(f.auth_code, 'UTF8')) END, ${issued},
          ${columnOrNull('referrer', 'text')}, ${target}, coalesce(${columnOrNull('email_optional', 'boolean')}, false), ${begun}
        FROM ${sql.id(places.kept, 'flow_state')} f
        WHERE f.authentication_method IN ('email/signup', 'magiclink', 'recovery', 'invite', 'email_change', 'oauth')
          AND ${isThere(sql`f.user_id`)} AND ${isThere(target)}
          AND coalesce(${issued}, ${begun}) > ${now} - make_interval(secs => CASE
            WHEN f.provider_type = 'email' AND ${issued} IS NULL THEN ${lifetimes.mailCodeSeconds}::float8
            ELSE ${lifetimes.flowSeconds}::float8 END)`.execute(trx)
  await copyProviderTokens(context)
}

/** The old service stores provider tokens in plain text, in flows that have returned from the provider. */
async function copyProviderTokens({ trx, places: { names, kept }, encryption }: SecretCopyContext): Promise<void> {
  const { rows } = await sql<OldFlow>`
    SELECT o.id, nullif(o.provider_access_token, '') AS access, nullif(o.provider_refresh_token, '') AS refresh
      FROM ${names.id('flow_state')} f JOIN ${sql.id(kept, 'flow_state')} o ON o.id = f.id
      WHERE o.provider_access_token <> '' OR o.provider_refresh_token <> ''`.execute(trx)
  for (let start = 0; start < rows.length; start += BATCH_FLOWS) {
    const batch = rows.slice(start, start + BATCH_FLOWS)
    const encrypt = (id: string, token: string | null) =>
      JSON.stringify(encryptOptional(encryption, id, token ?? undefined))
    await sql`
      UPDATE ${names.id('flow_state')} f
        SET provider_access_token = nullif(t.access, 'null'), provider_refresh_token = nullif(t.refresh, 'null')
        FROM unnest(${batch.map(({ id }) => id)}::uuid[], ${batch.map(({ id, access }) => encrypt(id, access))}::jsonb[],
          ${batch.map(({ id, refresh }) => encrypt(id, refresh))}::jsonb[]) t (id, access, refresh)
        WHERE f.id = t.id`.execute(trx)
  }
}

/** The approximate number of open flows in a database of supabase/auth. 0 if the version has no flows. */
export async function countOpenFlows(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  { now, mailCodeSeconds, flowSeconds }: Lifetimes,
): Promise<number> {
  if (!(await hasRelation(db, names.schema, 'flow_state'))) return 0
  const openSince = new Date(now.getTime() - Math.max(mailCodeSeconds, flowSeconds) * 1_000)
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('flow_state')} WHERE greatest(created_at, updated_at) > ${openSince}`.execute(
    db,
  )
  return Number(rows[0]?.count ?? 0)
}

type OldProvider = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly identifier: string
  readonly client_secret: string
}

/**
 * Copies custom providers.
 * @returns the identifiers of providers that cannot be copied: no key decrypts their secret, or their metadata are missing
 */
export async function copyCustomProviders({ trx, places, encryption }: SecretCopyContext): Promise<readonly string[]> {
  if (!(await hasRelation(trx, places.kept, 'custom_oauth_providers'))) return []
  const { rows } = await sql<OldProvider>`SELECT * FROM ${sql.id(places.kept, 'custom_oauth_providers')}`.execute(trx)
  const left: string[] = []
  for (const provider of rows) {
    const { id, identifier, client_secret: secret } = provider
    const settings = toSettings(provider)
    const opened = readUpstreamSecret(encryption.encryptionKeys, id, secret)
    if (settings === undefined || opened === undefined) {
      left.push(identifier)
      continue
    }
    await sql`
      INSERT INTO ${places.names.id('custom_oauth_providers')}
          (id, identifier, client_secret, settings, created_at, updated_at)
        SELECT id, identifier, ${JSON.stringify(encryptSecret(encryption, id, opened))}::jsonb, ${JSON.stringify(settings)}::jsonb,
            created_at, updated_at
          FROM ${sql.id(places.kept, 'custom_oauth_providers')} WHERE id = ${id}`.execute(trx)
  }
  return left
}

/** Returns `undefined` if the settings break rules of this service. Columns have the names of the members. */
function toSettings(provider: OldProvider): CustomProviderSettings | undefined {
  const present = Object.entries(provider).filter(([, value]) => value !== null)
  const members = { ...Object.fromEntries(present), discovery_document: provider.cached_discovery }
  return CustomProviderSettings.safeParse(members).data
}

/** Lists the custom providers that cannot be copied. The check runs before the tables move. */
export async function listUnfitProviders(
  db: Kysely<unknown>,
  { names }: AdoptionPlaces,
  { encryptionKeys }: Pick<Encryption, 'encryptionKeys'>,
): Promise<readonly string[]> {
  if (!(await hasRelation(db, names.schema, 'custom_oauth_providers'))) return []
  const { rows } = await sql<OldProvider>`SELECT * FROM ${names.id('custom_oauth_providers')}`.execute(db)
  const opens = ({ id, client_secret: secret }: OldProvider) =>
    readUpstreamSecret(encryptionKeys, id, secret) !== undefined
  return rows.filter((row) => toSettings(row) === undefined || !opens(row)).map(({ identifier }) => identifier)
}
