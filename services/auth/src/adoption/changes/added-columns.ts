import { authMigrations } from '@trestle/migrations/auth.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/**
 * The tables that get columns of this service, each with the last one that it gets, the migration that adds
 * them, and whether PostgreSQL looks for columns of its type elsewhere when it does: it does for a column
 * with a default.
 */
const GAINING = {
  users: { last: 'console_role', isTypeFixed: true, migration: '0002-create-users' },
  mfa_factors: { last: 'guessed_at', isTypeFixed: true, migration: '0010-create-mfa-factors' },
  mfa_amr_claims: { last: 'credential_since', isTypeFixed: false, migration: '0009-create-amr-claims' },
  sessions: { last: 'label', isTypeFixed: false, migration: '0007-create-sessions' },
  identities: { last: 'provider_id', isTypeFixed: true, migration: undefined },
} as const

/**
 * The columns that later versions have added, by table, each with its migration. supabase/auth reads whole
 * rows of `sessions` alone, and refuses every refresh once it meets a column that it does not know
 * (`SELECT *` in `internal/models/sessions.go`, from 2.40 to 2.196).
 */
export const LATER_COLUMNS = {
  users: [['is_anonymous boolean NOT NULL DEFAULT false', '20240214120130']],
  sessions: [
    ['refreshed_at timestamp', '20231027141322'],
    ['user_agent text', '20231027141322'],
    ['ip inet', '20231027141322'],
    ['tag text', '20231114161723'],
    ['oauth_client_id uuid', '20250904133000'],
    ['refresh_token_hmac_key text', '20251007112900'],
    ['refresh_token_counter bigint', '20251007112900'],
    ['scopes text CONSTRAINT sessions_scopes_length CHECK (char_length(scopes) <= 4096)', '20251111201300'],
  ],
  mfa_factors: [
    ['phone text', '20240729123726'],
    ['last_challenged_at timestamptz CONSTRAINT mfa_factors_last_challenged_at_key UNIQUE', '20240802193726'],
    ['web_authn_credential jsonb', '20241009103726'],
    ['web_authn_aaguid uuid', '20241009103726'],
    ['last_webauthn_challenge_data jsonb', '20250925093508'],
  ],
} as const

/** A table that gets columns of this service. */
export type GainingTable = keyof typeof GAINING

/** The tables of supabase/auth that stay, in the order in which they get columns. */
export const GAINING_TABLES = [
  'users',
  'mfa_factors',
  'mfa_amr_claims',
  'sessions',
  'identities',
] as const satisfies GainingTable[]

/** The tables of `GAINING` whose columns are still to come, as `gaining`, for a query. */
export const gaining = (schema: string): RawBuilder<unknown> => sql`
  gaining AS (
    SELECT c.oid, c.reltype, c.relname::text AS name, g.is_type_fixed FROM pg_class c
    JOIN unnest(${[...GAINING_TABLES]}::text[], ${GAINING_TABLES.map((table) => GAINING[table].last)}::text[],
      ${GAINING_TABLES.map((table) => GAINING[table].isTypeFixed)}::boolean[]) AS g (name, last, is_type_fixed) ON g.name = c.relname
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = g.last AND NOT attisdropped))`

/** Lists the tables whose columns are still to come. */
export async function listGaining(db: QueryExecutorProvider, { schema }: Names): Promise<readonly GainingTable[]> {
  const { rows } = await sql<{ name: string }>`WITH ${gaining(schema)} SELECT name FROM gaining`.execute(db)
  return GAINING_TABLES.filter((table) => rows.some(({ name }) => name === table))
}

/**
 * Lists the tables of others that inherit from a table that stays, and the partitions of one: their rows are
 * rows of the table for each query, while no foreign key to the table finds them.
 * @returns each in a line, with what to do about it
 */
export async function listHeirs(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ heir: string; table: string; isPartition: boolean }>`
    SELECT format('%s', h.oid::regclass) AS heir, format('%s', t.oid::regclass) AS "table", h.relispartition AS "isPartition"
    FROM pg_inherits i JOIN pg_class t ON t.oid = i.inhparent JOIN pg_class h ON h.oid = i.inhrelid
    WHERE t.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND t.relkind IN ('r', 'p')
      AND t.relname = ANY (${[...GAINING_TABLES]}::text[])
    ORDER BY 1, 2`.execute(db)
  return rows.map(({ heir, table, isPartition }) =>
    isPartition
      ? `the table ${heir} is a partition of ${table}, which may have none: copy its rows into a table without partitions that takes this name`
      : `the table ${heir} inherits from ${table}, so this service would take its rows for its own: as its owner, run ALTER TABLE ${heir} NO INHERIT ${table}`,
  )
}

/**
 * Adds the columns that a table gets, as a run does, for a transaction that is taken back. What takes long
 * under a lock is left out: constraints of columns that later versions of supabase/auth have added, and the
 * values of the new key of older `identities`.
 */
export async function addGainedColumns(trx: Kysely<unknown>, names: Names, table: GainingTable): Promise<void> {
  const place = names.id(table)
  for (const definition of laterColumns(table))
    await sql`ALTER TABLE ${place} ADD COLUMN IF NOT EXISTS ${sql.raw(definition)}`.execute(trx)
  const { migration } = GAINING[table]
  if (migration === undefined) {
    await sql`ALTER TABLE ${place} ADD COLUMN provider_id text`.execute(trx)
    return
  }
  const { inPlace } = (await authMigrations[migration]?.(names)) ?? {}
  await inPlace?.up(trx)
}

/** The columns of `LATER_COLUMNS` for a table, each as its name, its type and its default, without a constraint. */
function laterColumns(table: string): readonly string[] {
  return Object.entries(LATER_COLUMNS).flatMap(([name, columns]) =>
    name === table ? columns.map(([definition]) => definition.replace(/ CONSTRAINT .*$/, '')) : [],
  )
}
