import { againWhenLocked } from '@trestle/database/migrations/again-when-locked.ts'
import { isDeadlock, isLockTimeout } from '@trestle/database/unavailable.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { inGentle } from '../adoption-locks.ts'
import { placesOf } from '../adoption-record.ts'
import { addGainedColumns, type GainingTable } from '../changes/added-columns.ts'
import { listTrialSteps, type TrialEvent } from './trial-steps.ts'

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

/** A table, and the triggers and functions that are tried on it. */
export interface Subjects {
  readonly table: GainingTable
  readonly triggers: readonly Trigger[]
  readonly functions: readonly SqlFunction[]
  /** The search path of the old service. */
  readonly path: string
}

/**
 * Whether an event of the triggers, or a function, works on the table without the columns of this service and
 * with them. What fails without them is not tried with them.
 */
export interface Outcome {
  readonly of: TrialEvent | SqlFunction
  /** The error of the table as it is. */
  readonly before: Failure | undefined
  /** The error of the table with the columns of this service. */
  readonly after: Failure | undefined
}

/** Why an attempt has failed. */
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
 * Makes the same writes, and copies of functions, on a table before and after it has the columns of this
 * service, and takes everything back. No request of the old service reads the table meanwhile. One of its
 * rows may be written, which nobody else has locked then.
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
