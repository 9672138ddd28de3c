import { EMAIL_KEY } from '@trestle/migrations/auth/email-key.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import { base64url, notAfter } from '../copy/copy-live-rows.ts'
import type { Loss } from '../upstream-tables.ts'
import { holdBack, type ImportPlaces, namedByFlows, rowsOf } from './import-record.ts'

/** The tables that supabase/auth and this service share, parents first. The columns identify a row across imports. */
const SHARED = {
  users: ['id'],
  identities: ['provider_id', 'provider'],
  sessions: ['id'],
  mfa_amr_claims: ['id'],
  mfa_factors: ['id'],
} as const
/** The unique columns of users, with the value that means "none". */
const UNIQUE = {
  email: null,
  phone: null,
  confirmation_token: '',
  recovery_token: '',
  email_change_token_new: '',
  email_change_token_current: '',
  reauthentication_token: '',
} as const

/**
 * Writes the rows of the staged users into the tables that supabase/auth and this service share. Rows keep their ids, so
 * references to them stay valid. Deletes the users' rows in other tables, which are copied afterwards in another form.
 */
export async function writeStagedUsers(trx: Kysely<unknown>, places: ImportPlaces, now: Date): Promise<void> {
  const { names, kept } = places
  const of = (change: string, column: RawBuilder<unknown>) => sql`EXISTS (
    SELECT FROM ${sql.id(kept, 'changes')} c WHERE c.kind = 'user' AND c.change = ${change} AND c.id = ${column})`
  const changed = (column: string) => of('changed', sql.ref(column))
  await sql`DELETE FROM ${names.id('users')} o WHERE ${of('gone', sql`o.id`)}`.execute(trx)
  for (const table of ['webauthn_credentials', 'one_time_tokens', 'refresh_tokens'])
    await sql`DELETE FROM ${names.id(table)} o WHERE ${changed('o.user_id')}`.execute(trx)
  for (const table of ['identities', 'sessions', 'mfa_factors'] as const) {
    const key = SHARED[table].map((column) => sql`s.${sql.id(column)} = o.${sql.id(column)}`)
    await sql`
      DELETE FROM ${names.id(table)} o WHERE ${changed('o.user_id')} AND NOT EXISTS (
        SELECT FROM ${sql.id(kept, table)} s WHERE ${sql.join(key, sql` AND `)} AND s.user_id = o.user_id)`.execute(trx)
  }
  await sql`
    DELETE FROM ${names.id('mfa_amr_claims')} o USING ${names.id('sessions')} w
    WHERE w.id = o.session_id AND ${changed('w.user_id')}
      AND NOT EXISTS (SELECT FROM ${sql.id(kept, 'mfa_amr_claims')} s WHERE s.id = o.id)`.execute(trx)
  await freeUniqueValues(trx, places)
  await allowSharedEmails(trx, places)
  for (const [table, key] of Object.entries(SHARED)) await upsert(trx, places, { table, key, now })
}

/** Two users may have exchanged addresses, and PostgreSQL checks each row separately, so clear both first. */
async function freeUniqueValues(trx: Kysely<unknown>, { names, kept }: ImportPlaces): Promise<void> {
  const columns = Object.keys(UNIQUE)
  const row = (alias: string) => sql.join(columns.map((column) => sql.ref(`${alias}.${column}`)))
  const none = Object.entries(UNIQUE).map(([column, value]) => sql`${sql.id(column)} = ${sql.lit(value)}`)
  await sql`
    UPDATE ${names.id('users')} o SET ${sql.join(none)} FROM ${sql.id(kept, 'users')} s
    WHERE s.id = o.id AND (${row('o')}) IS DISTINCT FROM (${row('s')})`.execute(trx)
  await sql`
    UPDATE ${names.id('mfa_factors')} o SET friendly_name = NULL, phone = NULL, last_challenged_at = NULL
    FROM ${sql.id(kept, 'mfa_factors')} s WHERE s.id = o.id`.execute(trx)
}

/** Makes the email index of users non-unique if emails of several users differ only in case. `adopt` does the same. */
async function allowSharedEmails(trx: Kysely<unknown>, { names, kept }: ImportPlaces): Promise<void> {
  const index = `"${names.schema}"."${names.prefix}users_email_lower_key"`
  const { rows } = await sql<{ isDue: boolean }>`
    SELECT i.indisunique AND EXISTS (
        SELECT FROM (
          SELECT s.id, lower(s.email) AS email FROM ${sql.id(kept, 'users')} s WHERE NOT s.is_sso_user
          UNION SELECT o.id, lower(o.email) FROM ${names.id('users')} o WHERE NOT o.is_sso_user
            AND lower(o.email) IN (SELECT lower(email) FROM ${sql.id(kept, 'users')})) u
        GROUP BY email HAVING count(email) > 1) AS "isDue"
    FROM pg_index i WHERE i.indexrelid = to_regclass(${index})`.execute(trx)
  if (rows[0]?.isDue !== true) return
  await sql`DROP INDEX ${names.id('users_email_lower_key')}`.execute(trx)
  await sql`
    CREATE INDEX ${names.local('users_email_lower_key')} ON ${names.id('users')} ${EMAIL_KEY}`.execute(trx)
}

interface Column {
  readonly name: string
  readonly type: string
}

/** The times that may be in the future. `last_challenged_at` is unique, so limiting it could create duplicates. */
const AHEAD: readonly string[] = ['banned_until', 'deleted_at', 'not_after', 'last_challenged_at']

/** SQL for a column of a staged row `s`, in the type of the column here. Past times are limited to `now`. */
function toColumn({ name, type }: Column, now: Date): RawBuilder<unknown> {
  const value = sql`s.${sql.id(name)}::${sql.raw(type)}`
  if (!type.startsWith('timestamp') || AHEAD.includes(name)) return value
  const moment = sql`${now}::timestamptz`
  return notAfter(value, type.endsWith('with time zone') ? moment : sql`(${moment} AT TIME ZONE 'UTC')`)
}

/** Columns that a version of supabase/auth lacks get their defaults. Clean-up keeps the imported users. */
async function upsert(
  trx: Kysely<unknown>,
  { names, kept }: ImportPlaces,
  { table, key, now }: { readonly table: string; readonly key: readonly string[]; readonly now: Date },
): Promise<void> {
  const staged = await readColumns(trx, kept, table)
  const { rows } = await sql<Column>`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.%I', ${names.schema}::text, ${names.prefix + table}::text))
      AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`.execute(trx)
  const columns = rows.filter(({ name }) => staged.has(name))
  const list = (write: (column: Column) => RawBuilder<unknown>) => sql.join(columns.map(write))
  const own = table === 'users' ? [sql`, keep_unconfirmed`, sql`, true`] : [sql``, sql``]
  await sql`
    INSERT INTO ${names.id(table)} AS o (${list(({ name }) => sql.id(name))}${own[0]})
      SELECT ${list((column) => toColumn(column, now))}${own[1]} FROM ${sql.id(kept, table)} s
      ON CONFLICT (${sql.join(key.map((name) => sql.id(name)))})
      DO UPDATE SET ${list(({ name }) => sql`${sql.id(name)} = excluded.${sql.id(name)}`)}
      WHERE (${list(({ name }) => sql`o.${sql.id(name)}`)}) IS DISTINCT FROM (${list(({ name }) => sql`excluded.${sql.id(name)}`)})`.execute(
    trx,
  )
}

/**
 * Holds back users if a user who stays here has the same email, phone, identity, verified address of an identity, session, factor
 * or passkey. Also holds back custom providers with a name that is taken, and flows of users who are not imported. The owner of
 * the source chooses its ids, so an import could otherwise overwrite a row of another user here. Emails of users of the source
 * that differ only in case do not count. A held-back user may keep an address that another user of the source has now, so the
 * check repeats until it finds nothing. Afterwards the staging tables contain only rows that will be written.
 */
export async function holdBackDuplicates(trx: Kysely<unknown>, places: ImportPlaces): Promise<readonly Loss[]> {
  const { names, kept } = places
  const staged = (table: string) => sql.id(kept, table)
  const stays = (owner: RawBuilder<unknown>, kind = 'user') => sql`NOT EXISTS (
    SELECT FROM ${sql.id(kept, 'changes')} c WHERE c.kind = ${kind} AND c.id = ${owner})`
  const isForeign = sql`NOT EXISTS (
    SELECT FROM ${sql.id(places.record, 'taken')} t WHERE t.kind = 'user' AND t.id = o.id)`
  const others = sql`${names.id('users')} o JOIN ${staged('users')} s ON o.id <> s.id`
  const collisions: readonly RawBuilder<unknown>[] = [
    sql`
      SELECT 'user' AS kind, s.id FROM ${others} AND lower(o.email) = lower(s.email) AND NOT o.is_sso_user AND NOT s.is_sso_user
        WHERE (o.email = s.email OR ${isForeign}) AND ${stays(sql`o.id`)}`,
    sql`SELECT 'user', s.id FROM ${others} AND o.phone = s.phone WHERE ${stays(sql`o.id`)}`,
    sql`
      SELECT 'user', s.id FROM (${emailsOf(names.id('users'), names.id('identities'))}) o
        JOIN (${emailsOf(staged('users'), staged('identities'))}) s ON o.email = s.email AND o.id <> s.id
        WHERE ${isForeign} AND ${stays(sql`o.id`)}`,
    sql`
      SELECT 'user', s.user_id FROM ${names.id('identities')} o JOIN ${staged('identities')} s
        ON (o.provider_id, o.provider) = (s.provider_id, s.provider) AND o.user_id <> s.user_id
        WHERE ${stays(sql`o.user_id`)}`,
    ...(await listTakenRows(trx, places, stays)),
    ...((await hasRelation(trx, kept, 'custom_oauth_providers'))
      ? [
          sql`
            SELECT 'provider', s.id FROM ${names.id('custom_oauth_providers')} o JOIN ${staged('custom_oauth_providers')} s
              ON o.identifier = s.identifier AND o.id <> s.id WHERE ${stays(sql`o.id`, 'provider')}`,
        ]
      : []),
  ]
  const reason = sql`CASE WHEN kind = 'user' THEN 'has an email, phone, identity, session, factor or passkey of another user here'
    ELSE 'has the name of another provider here' END`
  while ((await holdBack(trx, places, reason, sql.join(collisions, sql` UNION `))) > 0)
    await dropUnwritten(trx, places, ['user'])
  await holdFlows(trx, places)
  await holdProviders(trx, places)
  const left = await leaveUnnamedFlows(trx, places)
  await dropUnwritten(trx, places, ['flow', 'provider'])
  return left
}

/** SQL for the emails of a user: the own one, and those that a provider has verified. SSO users may share emails. */
function emailsOf(users: RawBuilder<unknown>, identities: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    SELECT u.id, lower(u.email) AS email FROM ${users} u WHERE u.email <> '' AND NOT u.is_sso_user
    UNION
    SELECT u.id, lower(i.identity_data ->> 'email') FROM ${identities} i JOIN ${users} u ON u.id = i.user_id
      WHERE i.provider NOT IN ('email', 'phone') AND i.identity_data @> '{"email_verified": true}' AND NOT u.is_sso_user`
}

/**
 * Holds back flows of users here who are not imported. A flow is imported only if this run or an earlier run imports its user and
 * the user is not held back. Otherwise the operator of the source could get a session of any user here. A flow is not held back
 * if its user exists on neither side.
 */
async function holdFlows(trx: Kysely<unknown>, places: ImportPlaces): Promise<void> {
  const { names, kept } = places
  if (!(await hasRelation(trx, kept, 'flow_state'))) return
  await holdBack(
    trx,
    places,
    sql`'belongs to a user here who was not taken over'`,
    sql`
    SELECT 'flow' AS kind, n.flow_id AS id FROM (${await namedByFlows(trx, kept)}) n
      WHERE EXISTS (SELECT FROM ${names.id('users')} u WHERE u.id = n.id)
        AND NOT EXISTS (SELECT FROM ${sql.id(kept, 'changes')} c WHERE c.kind = 'user' AND c.id = n.id)`,
  )
}

/**
 * Holds back all custom providers if any user here does not come from the source. A custom provider states which emails it has
 * verified, and its users sign in as the owners of these emails. The owner of the source controls the address of the provider,
 * and could sign in as any user here.
 */
async function holdProviders(trx: Kysely<unknown>, places: ImportPlaces): Promise<void> {
  const { kept } = places
  if (!(await hasRelation(trx, kept, 'custom_oauth_providers'))) return
  await holdBack(
    trx,
    places,
    sql`'could sign in as users here who were not taken over: create it again by POST /admin/custom-providers'`,
    sql`
    SELECT 'provider' AS kind, s.id FROM ${sql.id(kept, 'custom_oauth_providers')} s WHERE ${hasOtherUsers(places)}`,
  )
}

/**
 * Leaves out flows that wait for a provider and have no user yet, if any user here was not imported. Such a flow ends with a
 * session of any user who returns from the provider, but the source has chosen its state and its verifier.
 */
async function leaveUnnamedFlows(trx: Kysely<unknown>, places: ImportPlaces): Promise<readonly Loss[]> {
  const { kept } = places
  if (!(await hasRelation(trx, kept, 'flow_state'))) return []
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM ${sql.id(kept, 'changes')} c USING ${sql.id(kept, 'flow_state')} f
    WHERE c.kind = 'flow' AND c.id = f.id AND ${hasOtherUsers(places)}
      AND f.id NOT IN (SELECT n.flow_id FROM (${await namedByFlows(trx, kept)}) n)`.execute(trx)
  const what =
    'sign-ins that wait for a provider: they could end in sessions of users who were here before, and begin again'
  return numAffectedRows === 0n ? [] : [{ what, count: Number(numAffectedRows) }]
}

/** Returns SQL for whether a user here was imported neither by this run nor by an earlier one. */
function hasOtherUsers({ names, kept, record }: ImportPlaces): RawBuilder<unknown> {
  return sql`EXISTS (
    SELECT FROM ${names.id('users')} u WHERE u.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM ${sql.id(record, 'taken')} t WHERE t.kind = 'user' AND t.id = u.id)
      AND NOT EXISTS (SELECT FROM ${sql.id(kept, 'changes')} c WHERE c.kind = 'user' AND c.id = u.id))`
}

/** The columns that lead from staged rows to their owner. Claims and tokens find it through `sessions`, so they come first. */
const OWNERS = {
  user: {
    users: 'id',
    identities: 'user_id',
    mfa_amr_claims: 'session_id',
    refresh_tokens: 'session_id',
    sessions: 'user_id',
    mfa_factors: 'user_id',
    webauthn_credentials: 'user_id',
  },
  flow: { flow_state: 'id' },
  provider: { custom_oauth_providers: 'id' },
} as const

/** Deletes staged rows that will not be written: unchanged flows and providers, and rows that were held back. */
async function dropUnwritten(
  trx: Kysely<unknown>,
  { kept }: ImportPlaces,
  kinds: readonly (keyof typeof OWNERS)[],
): Promise<void> {
  for (const kind of kinds) {
    for (const [table, column] of Object.entries(OWNERS[kind])) {
      if (!(await hasRelation(trx, kept, table))) continue
      const owner =
        column === 'session_id'
          ? sql`(SELECT s.user_id FROM ${sql.id(kept, 'sessions')} s WHERE s.id = t.session_id)`
          : sql.ref(`t.${column}`)
      await sql`
        DELETE FROM ${sql.id(kept, table)} t WHERE NOT EXISTS (
          SELECT FROM ${sql.id(kept, 'changes')} c WHERE c.kind = ${kind} AND c.id = ${owner})`.execute(trx)
    }
  }
}

interface Unshared {
  readonly table: keyof typeof OWNERS.user
  readonly column: string
  readonly isSame: RawBuilder<unknown>
}

/** The columns, except addresses, that no two users share. `o` is a row here, and `s` is a staged row. */
const UNSHARED: readonly Unshared[] = [
  ...['confirmation_token', 'recovery_token', 'email_change_token_new', 'email_change_token_current'].map(sharedText),
  sharedText('reauthentication_token'),
  ...(['identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'webauthn_credentials'] as const).map((table) => ({
    table,
    column: 'id',
    isSame: sql`o.id = s.id`,
  })),
  { table: 'mfa_factors', column: 'last_challenged_at', isSame: sql`o.last_challenged_at = s.last_challenged_at` },
  {
    table: 'webauthn_credentials',
    column: 'credential_id',
    isSame: sql`o.credential_id = ${base64url(sql`s.credential_id`)}`,
  },
  { table: 'refresh_tokens', column: 'token', isSame: sql`o.token_hash = sha256(convert_to(s.token, 'UTF8'))` },
]

function sharedText(column: string): Unshared {
  return {
    table: 'users',
    column,
    isSame: sql`o.${sql.id(column)} = s.${sql.id(column)} AND o.${sql.id(column)} <> ''`,
  }
}

/** Returns SQL for users with a staged row that belongs to another user here. */
async function listTakenRows(
  trx: Kysely<unknown>,
  { names, kept }: ImportPlaces,
  stays: (owner: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<readonly RawBuilder<unknown>[]> {
  const taken: RawBuilder<unknown>[] = []
  for (const { table, column, isSame } of UNSHARED) {
    if (!(await readColumns(trx, kept, table)).has(column)) continue
    const [staged, user] = [sql.id(kept, table), sql.id(table === 'users' ? 'id' : 'user_id')]
    const rows =
      OWNERS.user[table] === 'session_id'
        ? sql`(SELECT w.user_id, t.${sql.id(column)} FROM ${staged} t JOIN ${sql.id(kept, 'sessions')} w ON w.id = t.session_id)`
        : staged
    taken.push(sql`
      SELECT 'user', s.${user} FROM ${rowsOf(names, table)} o JOIN ${rows} s ON ${isSame} AND o.${user} <> s.${user}
        WHERE ${stays(sql`o.${user}`)}`)
  }
  return taken
}
