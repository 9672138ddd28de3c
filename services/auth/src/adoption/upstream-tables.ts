import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { hasRelation, readColumns } from '../schema/catalog.ts'
import type { AdoptionPlaces } from './adoption-record.ts'

/** Data that does not carry over, and the number of affected rows. */
export interface Loss {
  readonly what: string
  readonly count: number
}

/** The tables of supabase/auth 2.196 that this service reads, moves or does not need. */
export const SERVED = [
  ...['users', 'identities', 'sessions', 'mfa_factors', 'mfa_amr_claims', 'mfa_challenges', 'refresh_tokens'],
  ...['one_time_tokens', 'flow_state', 'webauthn_credentials', 'webauthn_challenges', 'custom_oauth_providers'],
  ...['audit_log_entries', 'schema_migrations', 'instances'],
] as const
/** The tables of supabase/auth that this service does not read yet. */
export const UNSERVED = [
  ...['sso_providers', 'sso_domains', 'saml_providers', 'saml_relay_states'],
  ...['oauth_clients', 'oauth_authorizations', 'oauth_consents', 'oauth_client_states'],
] as const

/** The schema of the tables of supabase/auth. */
export type UpstreamPlace = Pick<AdoptionPlaces, 'names'>

/** Returns the newest migration of supabase/auth in a database, or `none` if there is none. */
export async function findVersion(db: QueryExecutorProvider, { id }: Names): Promise<string> {
  const { rows } = await sql<{ version: string | null }>`
    SELECT max(version) AS version FROM ${id('schema_migrations')}`.execute(db)
  return rows[0]?.version ?? 'none'
}

/** Returns the encoding of the database as PostgreSQL names it, such as `UTF8`. */
export async function readEncoding(db: QueryExecutorProvider): Promise<string> {
  const { rows } = await sql<{ encoding: string }>`SELECT current_setting('server_encoding') AS encoding`.execute(db)
  return rows[0]?.encoding ?? ''
}

/** Counts the rows of each existing table, by its name. */
export async function countRows(
  db: Kysely<unknown>,
  { names }: UpstreamPlace,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    if (!(await hasRelation(db, names.schema, table))) continue
    const { rows } = await sql<{ count: string }>`SELECT count(*) AS count FROM ${names.id(table)}`.execute(db)
    counts.set(table, Number(rows[0]?.count ?? 0))
  }
  return counts
}

const TIME = 'timestamp with time zone'

/**
 * The columns of supabase/auth in any version up to 2.196, for the tables that stay in an adoption, by table and type. The
 * migrations of this service create them with the same types, except for some `varchar` columns. Types that PostgreSQL does not
 * have are types of the schema.
 */
const UPSTREAM_TYPES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  users: {
    uuid: ['id', 'instance_id'],
    text: [
      ...['aud', 'role', 'email', 'encrypted_password', 'confirmation_token', 'recovery_token', 'email_change'],
      ...['email_change_token_new', 'email_change_token_current', 'phone', 'phone_change', 'phone_change_token'],
      'reauthentication_token',
    ],
    [TIME]: [
      ...['email_confirmed_at', 'invited_at', 'confirmation_sent_at', 'recovery_sent_at', 'email_change_sent_at'],
      ...['last_sign_in_at', 'created_at', 'updated_at', 'phone_confirmed_at', 'phone_change_sent_at'],
      ...['confirmed_at', 'banned_until', 'reauthentication_sent_at', 'deleted_at'],
    ],
    jsonb: ['raw_app_meta_data', 'raw_user_meta_data'],
    boolean: ['is_super_admin', 'is_sso_user', 'is_anonymous'],
    smallint: ['email_change_confirm_status'],
  },
  identities: {
    uuid: ['id', 'user_id'],
    text: ['provider_id', 'provider', 'email'],
    jsonb: ['identity_data'],
    [TIME]: ['last_sign_in_at', 'created_at', 'updated_at'],
  },
  sessions: {
    uuid: ['id', 'user_id', 'factor_id', 'oauth_client_id'],
    aal_level: ['aal'],
    [TIME]: ['created_at', 'updated_at', 'not_after'],
    'timestamp without time zone': ['refreshed_at'],
    text: ['user_agent', 'tag', 'refresh_token_hmac_key', 'scopes'],
    inet: ['ip'],
    bigint: ['refresh_token_counter'],
  },
  mfa_factors: {
    uuid: ['id', 'user_id', 'web_authn_aaguid'],
    text: ['friendly_name', 'secret', 'phone'],
    factor_type: ['factor_type'],
    factor_status: ['status'],
    [TIME]: ['created_at', 'updated_at', 'last_challenged_at'],
    jsonb: ['web_authn_credential', 'last_webauthn_challenge_data'],
  },
  mfa_amr_claims: {
    uuid: ['id', 'session_id'],
    text: ['authentication_method'],
    [TIME]: ['created_at', 'updated_at'],
  },
}

/**
 * The columns of supabase/auth in any version up to 2.196, for the tables that this service has too. Only these are imported. A
 * role that may change the source could add columns with names of this service, such as `users.console_role`, which makes a user
 * an operator of the console.
 */
export const UPSTREAM_COLUMNS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(UPSTREAM_TYPES).map(([table, types]) => [table, Object.values(types).flat()]),
)

/** Returns the columns that other programs have added to these tables, such as `users.tenant_id`. No import copies them. */
export async function listOtherColumns(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const others: string[] = []
  for (const [table, known] of Object.entries(UPSTREAM_COLUMNS)) {
    for (const column of await readColumns(db, schema, table))
      if (!known.includes(column)) others.push(`${table}.${column}`)
  }
  return others
}

/**
 * Lists the columns whose type an operator has changed to one that this service cannot write, such as an enumeration for
 * `users.role`. This service can write `varchar` and `citext` like `text`, a domain like its base type, and user metadata also as
 * `json`. The key of identities was text before identities had a `provider_id`.
 * @returns a line with advice for each column
 */
export async function listChangedTypes(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const known = Object.entries(UPSTREAM_TYPES).flatMap(([table, types]) =>
    Object.entries(types).flatMap(([type, columns]) => columns.map((column) => ({ table, column, type }))),
  )
  const isOlder = !(await readColumns(db, schema, 'identities')).has('provider_id')
  const expected = known.filter(({ table, column }) => !(isOlder && table === 'identities' && column === 'id'))
  const { rows } = await sql<{ table: string; column: string; type: string; expected: string }>`
    WITH RECURSIVE typed AS (
      SELECT c.oid AS place, c.relname, a.attnum, a.attname, a.atttypid AS type, a.atttypid AS base,
        coalesce(to_regtype(e.type), to_regtype(format('%I.%I', ${schema}::text, e.type))) AS expected
      FROM unnest(${expected.map(({ table }) => table)}::text[], ${expected.map(({ column }) => column)}::text[],
        ${expected.map(({ type }) => type)}::text[]) AS e ("table", "column", type)
      JOIN pg_class c ON c.relname = e."table" AND c.relnamespace = to_regnamespace(format('%I', ${schema}::text))
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = e."column" AND NOT a.attisdropped
      UNION ALL SELECT d.place, d.relname, d.attnum, d.attname, d.type, t.typbasetype, d.expected
        FROM typed d JOIN pg_type t ON t.oid = d.base AND t.typtype = 'd')
    SELECT format('%s', d.place::regclass) AS "table", quote_ident(d.attname) AS "column",
      format_type(d.type, NULL) AS type, format_type(d.expected, NULL) AS expected
    FROM typed d JOIN pg_type t ON t.oid = d.base
    WHERE t.typtype <> 'd' AND d.base <> d.expected
      AND NOT (d.expected = 'text'::regtype AND (d.base = 'varchar'::regtype OR t.typname = 'citext'))
      AND NOT (d.relname = 'users' AND d.expected = 'jsonb'::regtype AND d.base = 'json'::regtype)
    ORDER BY 1, d.attnum`.execute(db)
  return rows.map(({ table, column, type, expected }) => {
    const value = expected === 'text' ? `${column}::text` : `${column}::text::${expected}`
    return `the column ${table}.${column} has the type ${type}, which this service cannot write as ${expected}: run ALTER TABLE ${table} ALTER COLUMN ${column} TYPE ${expected} USING ${value}`
  })
}
