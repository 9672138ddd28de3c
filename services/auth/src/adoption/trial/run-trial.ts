import { againWhenLocked } from '@trestle/database/migrations/migration-connection.ts'
import { isDeadlock, isLockTimeout } from '@trestle/database/unavailable.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { inGentle } from '../adoption-locks.ts'
import { placesOf } from '../adoption-record.ts'
import { addGainedColumns, type GainingTable } from '../changes/added-columns.ts'

/** A trigger of others on a table that gets columns. */
export interface Trigger {
  readonly name: string
  /** The function of the trigger, as `regprocedure` writes it. */
  readonly function: string
  /** The kind, as in `pg_trigger`. */
  readonly tgtype: number
  readonly isAlways: boolean
}

/** A function in SQL that names a table that gets columns. */
export interface SqlFunction {
  /** The name, as `regprocedure` writes it. */
  readonly name: string
  /** The search path under which PostgreSQL parses its body, unless it has its own. */
  readonly path: string
  /** The statement that makes a copy of it. */
  readonly copy: string
}

export interface Subjects {
  readonly table: GainingTable
  readonly triggers: readonly Trigger[]
  readonly functions: readonly SqlFunction[]
  /** The search path of the old service. */
  readonly path: string
}

/**
 * Whether an event of the triggers, or a function, works on the table without the columns of this service and with them. A step
 * that fails without them is not tried with them.
 */
export interface Outcome {
  readonly of: TrialEvent | SqlFunction
  /** The error of the table as it is. */
  readonly before: Failure | undefined
  /** The error of the table with the columns of this service. */
  readonly after: Failure | undefined
}

export interface Failure {
  readonly message: string
  /** Whether a statement took too long. */
  readonly isTimeout: boolean
}

interface Attempt {
  readonly of: Outcome['of']
  readonly path: string
  readonly statements: readonly RawBuilder<unknown>[]
}

/** How long each statement may take while requests of the old service wait for the table, in milliseconds. */
const STATEMENT_MS = 500
const TIMED_OUT = '57014'

/**
 * Makes the same writes, and copies of functions, on a table before and after it has the columns of this service, and takes
 * everything back. No request of the old service reads the table meanwhile. One of its rows may be written: no other transaction
 * has locked it then.
 * @param alone the only trigger that fires; by default all do
 */
export function runTrial(
  db: Kysely<unknown>,
  names: Names,
  subjects: Subjects,
  alone?: Trigger,
): Promise<readonly Outcome[]> {
  const { table, triggers } = subjects
  const place = names.id(table)
  return againWhenLocked(() =>
    inGentle(
      db,
      async (trx) => {
        await sql`SET LOCAL check_function_bodies = on`.execute(trx)
        // PL/pgSQL would go on with the columns that it has found before.
        await sql`DISCARD PLANS`.execute(trx)
        await sql`LOCK TABLE ${place} IN ACCESS EXCLUSIVE MODE`.execute(trx)
        await sql`SAVEPOINT trial`.execute(trx)
        if (alone !== undefined) await leaveAlone(trx, place, alone)
        const tgtypes = (alone === undefined ? triggers : [alone]).map(({ tgtype }) => tgtype)
        const steps = await listTrialSteps(trx, { schema: names.schema, table }, tgtypes)
        const attempts: readonly Attempt[] = [
          ...steps.map(({ event, statements }) => ({ of: event, path: subjects.path, statements })),
          ...subjects.functions.map((each) => ({ of: each, path: each.path, statements: [sql.raw(each.copy)] })),
        ]
        const errorsBefore: (Failure | undefined)[] = []
        for (const attempt of attempts) errorsBefore.push(await findError(trx, attempt))
        await addGainedColumns(trx, names, table)
        await sql`DISCARD PLANS`.execute(trx)
        const outcomes: Outcome[] = []
        for (const [index, attempt] of attempts.entries()) {
          const before = errorsBefore[index]
          outcomes.push({
            of: attempt.of,
            before,
            after: before === undefined ? await findError(trx, attempt) : undefined,
          })
        }
        await sql`ROLLBACK TO SAVEPOINT trial`.execute(trx)
        return outcomes
      },
      { places: placesOf(names), table },
    ),
  )
}

async function leaveAlone(
  trx: Kysely<unknown>,
  place: RawBuilder<unknown>,
  { name, isAlways }: Trigger,
): Promise<void> {
  await sql`ALTER TABLE ${place} DISABLE TRIGGER USER`.execute(trx)
  await sql`ALTER TABLE ${place} ENABLE ${isAlways ? sql`ALWAYS` : sql``} TRIGGER ${sql.id(name)}`.execute(trx)
}

/**
 * Makes an attempt and takes it back. Its statements are sent together, since requests of the old service wait
 * meanwhile. Deferred constraints, which would be checked by a commit, are checked at its end.
 * @returns why it failed; undefined where it did not
 * @throws Error where a lock was not granted, or the connection is lost
 */
async function findError(trx: Kysely<unknown>, { path, statements }: Attempt): Promise<Failure | undefined> {
  const all = [
    sql`SAVEPOINT attempt`,
    sql`SET LOCAL statement_timeout = ${sql.lit(STATEMENT_MS)}`,
    sql`SELECT pg_catalog.set_config('search_path', ${sql.lit(path)}, true)`,
    ...statements,
    sql`SET CONSTRAINTS ALL IMMEDIATE`,
    sql`ROLLBACK TO SAVEPOINT attempt`,
  ]
  try {
    await sql.join(all, sql`; `).execute(trx)
    return undefined
  } catch (error) {
    if (!(error instanceof Error) || isLockTimeout(error) || isDeadlock(error)) throw error
    await sql`ROLLBACK TO SAVEPOINT attempt`.execute(trx)
    return { message: error.message, isTimeout: 'code' in error && error.code === TIMED_OUT }
  }
}

/** The kinds of statements that fire triggers, each with its bit of `pg_trigger.tgtype`. */
const EVENT_BITS = { INSERT: 4, UPDATE: 16, DELETE: 8 } as const
type TrialEvent = keyof typeof EVENT_BITS

interface TrialPlace {
  readonly schema: string
  readonly table: GainingTable
}

/** The writes of one savepoint. */
interface TrialStep {
  /** The kind of statement, for the message of a failure. */
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
 * Writes that fire the triggers of a table, as the old service writes. They are of no row, which fires triggers for statements,
 * of a row of the table, and of a new row. An UPDATE names all columns, since a trigger may be for some of them. Every name has
 * its schema, because the search path is that of the old service.
 * @param tgtypes the kinds of the triggers that are tried (`pg_trigger.tgtype`)
 */
async function listTrialSteps(
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
