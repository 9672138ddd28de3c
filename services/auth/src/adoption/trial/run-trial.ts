import { againWhenLocked } from '@trestle/database/migrations/migration-connection.ts'
import { isDeadlock, isLockTimeout } from '@trestle/database/unavailable.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { inGentle } from '../adoption-locks.ts'
import { placesOf } from '../adoption-record.ts'
import { addGainedColumns, type GainingTable } from '../changes/added-columns.ts'

/** A trigger of another program on a table that gets new columns. */
export interface Trigger {
  readonly name: string
  /** The trigger's function in the format of `regprocedure`. */
  readonly function: string
  /** The kind of the trigger, as in `pg_trigger`. */
  readonly tgtype: number
  readonly isAlways: boolean
}

/** A function in SQL that uses a table that gets new columns. */
export interface SqlFunction {
  /** The name in the format of `regprocedure`. */
  readonly name: string
  /** The search path with which PostgreSQL parses the body, unless the function sets its own. */
  readonly path: string
  /** The statement that creates a copy of the function. */
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
 * The result of one step of a trial, before and after the table gets the columns of this service. A step is an event of triggers
 * or a function. A step that fails before is not tried after.
 */
export interface Outcome {
  readonly of: TrialEvent | SqlFunction
  /** The error before the table gets the columns of this service. */
  readonly before: Failure | undefined
  /** The error after the table gets the columns of this service. */
  readonly after: Failure | undefined
}

export interface Failure {
  readonly message: string
  /** Whether a statement exceeded its time limit. */
  readonly isTimeout: boolean
}

interface Attempt {
  readonly of: Outcome['of']
  readonly path: string
  readonly statements: readonly RawBuilder<unknown>[]
}

/** The time limit of each statement in milliseconds. Requests of the old service wait for the table meanwhile. */
const STATEMENT_MS = 500
const TIMED_OUT = '57014'

/**
 * Runs the same writes and copies of functions on a table before and after it gets the columns of this service, and rolls
 * everything back. Meanwhile no request of the old service can read the table. The trial may also write an existing row, because
 * the table lock ensures that no other transaction has locked it.
 * @param alone the only trigger that fires. By default, all triggers fire
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
        // Otherwise PL/pgSQL would use cached plans with the old columns.
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
 * Runs an attempt and rolls it back. Sends all statements together, because requests of the old service wait meanwhile. At the
 * end of the attempt, checks deferred constraints, which a commit would check.
 * @returns the reason for a failure, or `undefined` if the attempt succeeded
 * @throws Error if a lock was not granted or the connection is lost
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

/** The statements that run in one savepoint. */
interface TrialStep {
  /** The kind of statement, for the error message. */
  readonly event: TrialEvent
  readonly statements: readonly RawBuilder<unknown>[]
}

/** Values of a row by column, as SQL expressions. */
type Values = Readonly<Record<string, string>>

/** The id of all trial rows. No real row has it. */
const ID = "'7e57ab1e-0000-4000-8000-7e57ab1e0000'"
const NOW = 'pg_catalog.now()'
/** A row of each table, as supabase/auth inserts it. Older versions lack some of the columns. */
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

/** The tables to which a row refers, parents first. New parents are inserted, so that no existing row is locked. */
const PARENTS: Readonly<Record<GainingTable, readonly GainingTable[]>> = {
  users: [],
  identities: ['users'],
  sessions: ['users'],
  mfa_factors: ['users'],
  mfa_amr_claims: ['users', 'sessions'],
}

/** Changes of a row, made one after the other, because a trigger may fire only when one column changes. */
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
/** A change of an existing row, as a sign-in of the old service makes it. */
const TOUCHED: Values = { last_sign_in_at: NOW, updated_at: NOW }

/**
 * Returns writes that fire the triggers of a table, like writes of the old service. Some affect no row, which fires statement
 * triggers. Others affect an existing row or a new row. An UPDATE sets all columns, because a trigger may fire only for some of
 * them. Every name has its schema, because the search path is that of the old service.
 * @param tgtypes the kinds of the tested triggers (`pg_trigger.tgtype`)
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

/** Returns the new value of a column. A column without a given value keeps its value. */
function newValue(values: Values, column: string): RawBuilder<unknown> {
  const value = values[column]
  return value === undefined ? sql.id(column) : sql.raw(value)
}

/** Returns the columns that a statement may write. */
async function listWritable(db: QueryExecutorProvider, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT attname AS name FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND attnum > 0 AND NOT attisdropped
      AND attgenerated = '' AND attidentity = '' ORDER BY attnum`.execute(db)
  return rows.map(({ name }) => name)
}
