import { EMAIL_KEY } from '@trestle/migrations/auth/email-key.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readColumns } from '../../schema/catalog.ts'
import { notAfter } from '../copy/copy-live-rows.ts'
import type { ImportPlaces } from './import-record.ts'

/** The tables that supabase/auth and this service share, parents first, with the key by which an import knows a row again. */
const SHARED = {
  users: ['id'],
  identities: ['provider_id', 'provider'],
  sessions: ['id'],
  mfa_amr_claims: ['id'],
  mfa_factors: ['id'],
} as const
/** The columns of users that are unique, with what stands for none. */
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
 * Makes the rows of the tables that supabase/auth and this service share what the staged users have. Rows
 * keep their ids, and what refers to them stays. The other rows of the users, which are copied in another
 * form, are deleted.
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

/** Two users may have exchanged addresses: each row is checked by itself, so both give theirs up first. */
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

/** As `adopt` does: where users share an email in capitals, the index by which they are found is not unique. */
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

/** The times that may lie ahead. `last_challenged_at` is unique, so two of them may not become the same moment. */
const AHEAD: readonly string[] = ['banned_until', 'deleted_at', 'not_after', 'last_challenged_at']

/** A column of a staged row `s` in the type of the table here. The past does not lie ahead of `now`. */
function toColumn({ name, type }: Column, now: Date): RawBuilder<unknown> {
  const value = sql`s.${sql.id(name)}::${sql.raw(type)}`
  if (!type.startsWith('timestamp') || AHEAD.includes(name)) return value
  const moment = sql`${now}::timestamptz`
  return notAfter(value, type.endsWith('with time zone') ? moment : sql`(${moment} AT TIME ZONE 'UTC')`)
}

/** The columns that a version of supabase/auth lacks get their defaults. Clean-up keeps the users of supabase/auth. */
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
