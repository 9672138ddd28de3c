import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { GainingTable } from '../changes/added-columns.ts'

/** The kinds of statements that fire triggers, each with its bit of `pg_trigger.tgtype`. */
const EVENT_BITS = { INSERT: 4, UPDATE: 16, DELETE: 8 } as const
/** A kind of statement that fires triggers. */
export type TrialEvent = keyof typeof EVENT_BITS

/** A table that is tried. */
export interface TrialPlace {
  readonly schema: string
  readonly table: GainingTable
}

/** The writes of one savepoint. */
export interface TrialStep {
  /** The kind of statement that a failure is told by. */
  readonly event: TrialEvent
  readonly statements: readonly RawBuilder<unknown>[]
}

/** Values of a row by column, as SQL. */
type Values = Readonly<Record<string, string>>

/** The id of all rows of a trial, which no row has. */
const ID = "'7e57ab1e-0000-4000-8000-7e57ab1e0000'"
const NOW = 'pg_catalog.now()'
/** A row of each table as supabase/auth makes it. An older version lacks some of the columns. */
const ROWS: Readonly<Record<GainingTable, Values>> = {
  users: {
    instance_id: "'00000000-0000-0000-0000-000000000000'",
    id: ID,
    aud: "'authenticated'",
    role: "'authenticated'",
    email: "'trial@trestle.invalid'",
    encrypted_password: "''",
    confirmation_token: "''",
    recovery_token: "''",
    email_change_token_new: "''",
    email_change: "''",
    created_at: NOW,
    updated_at: NOW,
    raw_app_meta_data: `'{"provider": "email", "providers": ["email"]}'`,
    raw_user_meta_data: "'{}'",
  },
  identities: {
    id: ID,
    provider_id: ID,
    user_id: ID,
    provider: "'email'",
    created_at: NOW,
    updated_at: NOW,
    identity_data: `'{"email": "trial@trestle.invalid"}'`,
  },
  sessions: { id: ID, user_id: ID, aal: "'aal1'", created_at: NOW, updated_at: NOW },
  mfa_factors: {
    id: ID,
    user_id: ID,
    friendly_name: "''",
    factor_type: "'totp'",
    status: "'unverified'",
    secret: "''",
    created_at: NOW,
    updated_at: NOW,
  },
  mfa_amr_claims: {
    id: ID,
    session_id: ID,
    authentication_method: "'password'",
    created_at: NOW,
    updated_at: NOW,
  },
}

/** The rows that a row of a table refers to, parents first. No row of the old service is locked for it. */
const PARENTS: Readonly<Record<GainingTable, readonly GainingTable[]>> = {
  users: [],
  identities: ['users'],
  sessions: ['users'],
  mfa_factors: ['users'],
  mfa_amr_claims: ['users', 'sessions'],
}

/** Changes of a row, one after the other: a trigger may wait for a column that changes. */
const CHANGES: Readonly<Record<GainingTable, readonly Values[]>> = {
  users: [
    { last_sign_in_at: NOW, email_confirmed_at: NOW, updated_at: NOW },
    {
      email: "'changed@trestle.invalid'",
      phone: "'999000000000000'",
      phone_confirmed_at: NOW,
      encrypted_password: "'changed'",
      raw_app_meta_data: "'{}'",
      raw_user_meta_data: `'{"changed": true}'`,
      banned_until: NOW,
      deleted_at: NOW,
      role: "'changed'",
      updated_at: NOW,
    },
  ],
  identities: [{ last_sign_in_at: NOW, identity_data: "'{}'", updated_at: NOW }],
  sessions: [{ aal: "'aal2'", not_after: NOW, refreshed_at: NOW, updated_at: NOW }],
  mfa_factors: [{ status: "'verified'", friendly_name: "'changed'", updated_at: NOW }],
  mfa_amr_claims: [{ updated_at: NOW }],
}
/** A change of a row of the old service, as a sign-in makes it. */
const TOUCHED: Values = { last_sign_in_at: NOW, updated_at: NOW }

/**
 * Writes that fire the triggers of a table, as the old service makes them: of no row, which fires triggers
 * for statements whatever rows hold, of a row of the table, and of a row that is made for it. An UPDATE names
 * all columns, since a trigger may be for some of them. Every name has its schema, because the search path is
 * that of the old service.
 * @param tgtypes the kinds of the triggers that are tried (`pg_trigger.tgtype`)
 */
export async function listTrialSteps(
  db: QueryExecutorProvider,
  { schema, table }: TrialPlace,
  tgtypes: readonly number[],
): Promise<readonly TrialStep[]> {
  const columns = await listWritable(db, schema, table)
  const place = sql.id(schema, table)
  const names = sql.join(columns.map((column) => sql.id(column)))
  const update = (changes: Values, where: RawBuilder<unknown>) => sql`
    UPDATE ONLY ${place} SET ${sql.join(columns.map((column) => sql`${sql.id(column)} = ${newValue(changes, column)}`))} WHERE ${where}`
  const parents: RawBuilder<unknown>[] = []
  for (const parent of PARENTS[table])
    parents.push(insertRow({ schema, table: parent }, await listWritable(db, schema, parent)))
  const inserts = [...parents, insertRow({ schema, table }, columns)]
  const isMade = sql`id OPERATOR(pg_catalog.=) ${sql.raw(ID)}`
  const updates = CHANGES[table].map((changes) => update(changes, isMade))
  const steps: readonly TrialStep[] = [
    { event: 'INSERT', statements: [sql`INSERT INTO ${place} (${names}) SELECT ${names} FROM ${place} WHERE false`] },
    { event: 'UPDATE', statements: [update({}, sql`false`)] },
    { event: 'DELETE', statements: [sql`DELETE FROM ${place} WHERE false`] },
    {
      event: 'UPDATE',
      statements: [update(TOUCHED, sql`ctid OPERATOR(pg_catalog.=) (SELECT ctid FROM ONLY ${place} LIMIT 1)`)],
    },
    { event: 'INSERT', statements: inserts },
    { event: 'UPDATE', statements: [...inserts, ...updates] },
    { event: 'DELETE', statements: [...inserts, sql`DELETE FROM ${place} WHERE ${isMade}`] },
  ]
  return steps.filter(({ event }) => tgtypes.some((tgtype) => (tgtype & EVENT_BITS[event]) !== 0))
}

function insertRow({ schema, table }: TrialPlace, columns: readonly string[]): RawBuilder<unknown> {
  const written = columns.filter((column) => ROWS[table][column] !== undefined)
  return sql`
    INSERT INTO ${sql.id(schema, table)} (${sql.join(written.map((column) => sql.id(column)))})
    VALUES (${sql.join(written.map((column) => newValue(ROWS[table], column)))})`
}

/** The new value of a column, which stays as it is where no value is named. */
function newValue(values: Values, column: string): RawBuilder<unknown> {
  const value = values[column]
  return value === undefined ? sql.id(column) : sql.raw(value)
}

/** The columns that a statement may write. */
async function listWritable(db: QueryExecutorProvider, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT attname AS name FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND attnum > 0 AND NOT attisdropped
      AND attgenerated = '' AND attidentity = '' ORDER BY attnum`.execute(db)
  return rows.map(({ name }) => name)
}
