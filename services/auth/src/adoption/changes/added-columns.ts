import { authMigrations } from '@trestle/migrations/auth.ts'
import type { MigrationSources, Names, ServiceMigration } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/** The tables of supabase/auth that stay in place, in the order in which they get columns of this service. */
export const GAINING_TABLES = ['users', 'mfa_factors', 'mfa_amr_claims', 'sessions', 'identities'] as const
export type GainingTable = (typeof GAINING_TABLES)[number]

/**
 * The columns that later versions of supabase/auth have added, by table, each with its migration. An unknown column in `sessions`
 * makes supabase/auth reject every refresh (`SELECT *` in `internal/models/sessions.go`, from 2.40 to 2.196).
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

/** The change that adds columns of this service to a table. */
interface Gain {
  /** The last column that is added to the table. */
  readonly last: string
  /** Whether PostgreSQL searches other tables for the row type, as it does before it adds a column with a default. */
  readonly isTypeFixed: boolean
  readonly up: (trx: Kysely<unknown>) => Promise<void>
}

/** Reads the columns from the migration that adds them. For `identities`, supabase/auth itself has added the column. */
async function readGain(names: Names, table: GainingTable): Promise<Gain> {
  const migrations = await Promise.all(Object.values(authMigrations).map((source) => source(names)))
  for (const { adds, inPlace } of migrations) {
    const columns = adds?.[table]
    if (columns === undefined || inPlace === undefined) continue
    const last = columns.at(-1)?.split(' ')[0] ?? ''
    return { last, isTypeFixed: columns.some((column) => column.includes(' DEFAULT ')), up: inPlace.up }
  }
  const up = async (trx: Kysely<unknown>) => {
    await sql`ALTER TABLE ${names.id(table)} ADD COLUMN provider_id text`.execute(trx)
  }
  return { last: 'provider_id', isTypeFixed: true, up }
}

/** Returns the tables that still lack the added columns, as the part `gaining` of a query. */
export async function gaining(names: Names): Promise<RawBuilder<unknown>> {
  const gains = await Promise.all(GAINING_TABLES.map((table) => readGain(names, table)))
  return sql`
  gaining AS (
    SELECT c.oid, c.reltype, c.relname::text AS name, g.is_type_fixed FROM pg_class c
    JOIN unnest(${[...GAINING_TABLES]}::text[], ${gains.map(({ last }) => last)}::text[],
      ${gains.map(({ isTypeFixed }) => isTypeFixed)}::boolean[]) AS g (name, last, is_type_fixed) ON g.name = c.relname
    WHERE c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = g.last AND NOT attisdropped))`
}

/** Lists the tables that still lack the added columns. */
export async function listGaining(db: QueryExecutorProvider, names: Names): Promise<readonly GainingTable[]> {
  const { rows } = await sql<{ name: string }>`WITH ${await gaining(names)} SELECT name FROM gaining`.execute(db)
  return GAINING_TABLES.filter((table) => rows.some(({ name }) => name === table))
}

/**
 * Lists the application tables that inherit from a table that stays, and the partitions of such a table. Queries of the table
 * also return their rows, but foreign keys to the table do not find these rows.
 * @returns a line for each, with advice
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
 * Adds the columns that a table gets, in a transaction that is rolled back. Leaves out slow steps: the constraints of columns
 * from later versions of supabase/auth, and the values of the new key of older `identities`.
 */
export async function addGainedColumns(trx: Kysely<unknown>, names: Names, table: GainingTable): Promise<void> {
  for (const definition of laterColumns(table))
    await sql`ALTER TABLE ${names.id(table)} ADD COLUMN IF NOT EXISTS ${sql.raw(definition)}`.execute(trx)
  const { up } = await readGain(names, table)
  await up(trx)
}

/** Returns the columns of `LATER_COLUMNS` for a table, each with its name, type and default, without a constraint. */
function laterColumns(table: string): readonly string[] {
  return Object.entries(LATER_COLUMNS).flatMap(([name, columns]) =>
    name === table ? columns.map(([definition]) => definition.replace(/ CONSTRAINT .*$/, '')) : [],
  )
}

const REFRESH_TOKENS = '0008-create-refresh-tokens'
/**
 * The tables of these migrations are either filled before the switch, or wait for the switch because the old service would notice
 * the change. The old service rejects every refresh if `sessions` has an unknown column.
 */
const LATE_IN_PLACE = ['0006-create-identities', '0007-create-sessions']

/**
 * Returns the migrations in the form for a database in which supabase/auth has created some of the tables.
 * @param staging the schema in which the refresh tokens were copied. If it is `undefined`, the migration creates an empty table
 */
export function migrationsInPlace(staging?: string): MigrationSources {
  return Object.fromEntries(
    Object.entries(authMigrations).map(([name, source]) => [
      name,
      async (names: Names) => {
        const migration = await source(names)
        const { inPlace = migration } = migration
        if (name !== REFRESH_TOKENS || staging === undefined) return { ...migration, ...inPlace }
        return { ...migration, up: (db: Kysely<unknown>) => moveTable(db, [staging, names.schema], 'refresh_tokens') }
      },
    ]),
  )
}

/** Lists the migrations that can run while the old service serves, because they need no name that the old service uses. */
export async function listEarlyMigrations(names: Names): Promise<MigrationSources> {
  const early: [string, MigrationSources[string]][] = []
  for (const [name, source] of Object.entries(migrationsInPlace())) {
    if (!LATE_IN_PLACE.includes(name) && replacedBy(await source(names)).length === 0) early.push([name, source])
  }
  return Object.fromEntries(early)
}

/** Lists the tables of supabase/auth with names that this service needs. */
export async function listReplaced(names: Names): Promise<readonly string[]> {
  const sources = await Promise.all(Object.values(authMigrations).map((source) => source(names)))
  return sources.flatMap(replacedBy)
}

function replacedBy({ replaces = [] }: ServiceMigration): readonly string[] {
  return replaces
}

/** Moves a table to another schema. Its indexes, constraints, policies, grants and the sequence of its key move with it. */
export async function moveTable(
  trx: Kysely<unknown>,
  [from, to]: readonly [from: string, to: string],
  table: string,
): Promise<void> {
  await sql`ALTER TABLE ${sql.id(from, table)} SET SCHEMA ${sql.id(to)}`.execute(trx)
}
