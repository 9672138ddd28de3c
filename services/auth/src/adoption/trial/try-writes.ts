import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { listOpenTriggers } from '../../schema/catalog.ts'
import { NOTING_TRIGGER } from '../../schema/own-objects.ts'
import { listGaining } from '../changes/added-columns.ts'
import { type Failure, type Outcome, runTrial, type SqlFunction, type Subjects, type Trigger } from './run-trial.ts'
import { listSqlFunctions, type UntriedFunctions } from './sql-functions.ts'

/** The findings of a trial: lines with what to do about them, and functions. */
export interface Trial {
  /** Triggers that fail once their table has the columns of this service, and each write of the old service with them. */
  readonly triggers: readonly string[]
  /** Functions that fail then. */
  readonly functions: readonly string[]
  /** Triggers and functions that could not be tried. */
  readonly doubts: readonly string[]
  /** The functions that PostgreSQL has judged, so that their texts say nothing more. */
  readonly judged: readonly JudgedFunction[]
}

/** A function that was tried on a table. */
export interface JudgedFunction {
  /** The name, as `regprocedure` writes it. */
  readonly function: string
  readonly table: string
}

/** Whether triggers may run that can act outside of the transaction, which is taken back. */
export type TrialReach = 'anything' | 'nothing outside'

/** A trial of nothing. */
export const UNTRIED: Trial = { triggers: [], functions: [], doubts: [], judged: [] }
/** Extensions whose functions act outside of a transaction, whatever becomes of it. */
const OUTWARD = ['dblink', 'http', 'wrappers']
/** A trigger may raise any text. */
const WORDS_MAX = 200

/**
 * Adds the columns of this service to each table that gets some, has PostgreSQL run the triggers of others on
 * it and parse functions of others that name it, and takes all of that back. A text does not say what a
 * function does with a row. What fails on the table as it is cannot be judged. A table without triggers and
 * functions of others is not locked.
 */
export async function tryWrites(db: Kysely<unknown>, names: Names, reach: TrialReach): Promise<Trial> {
  const { path } = await listOpenTriggers(db, names)
  const unable = await findHindrance(db, reach)
  const trials: Trial[] = []
  for (const table of await listGaining(db, names)) {
    const triggers = await listTriggers(db, names, table)
    const { tried: functions, untried } = await listSqlFunctions(db, names, table)
    const place = `${names.schema}.${table}`
    if (unable.triggers !== undefined && triggers.length > 0)
      trials.push(doubt(`the triggers on ${place} were not tried: ${unable.triggers}`))
    if (unable.functions !== undefined && functions.length > 0)
      trials.push(doubt(`the functions in SQL that name ${place} were not tried: ${unable.functions}`))
    else trials.push(...untried.map((each) => doubt(describeUntried(place, each))))
    const subjects: Subjects = {
      table,
      path,
      triggers: unable.triggers === undefined ? triggers : [],
      functions: unable.functions === undefined ? functions : [],
    }
    if (subjects.triggers.length > 0 || subjects.functions.length > 0) trials.push(await tryTable(db, names, subjects))
  }
  return inOne(trials)
}

function inOne(trials: readonly Trial[]): Trial {
  return {
    triggers: trials.flatMap(({ triggers }) => triggers),
    functions: trials.flatMap(({ functions }) => functions),
    doubts: trials.flatMap(({ doubts }) => doubts),
    judged: trials.flatMap(({ judged }) => judged),
  }
}

/** Tries all triggers together, as they fire. Where that fails, each is tried alone, so that each that fails is named. */
async function tryTable(db: Kysely<unknown>, names: Names, subjects: Subjects): Promise<Trial> {
  const place = `${names.schema}.${subjects.table}`
  const together = await runTrial(db, names, subjects)
  const failed = together.filter(({ before, after }) => before !== undefined || after !== undefined)
  const trials: Trial[] = []
  for (const trigger of failed.some(({ of }) => typeof of === 'string') ? subjects.triggers : []) {
    const alone = await runTrial(db, names, { ...subjects, functions: [] }, trigger)
    trials.push(judgeTrigger({ place, table: subjects.table }, trigger, { alone, failed }))
  }
  const joint = failed.find(({ of, after }) => typeof of === 'string' && isFailure(after))
  const isNamed = trials.some(({ triggers }) => triggers.length > 0)
  return inOne([
    ...trials,
    judgeFunctions(place, subjects, together),
    ...(joint === undefined || isNamed ? [] : [{ ...UNTRIED, triggers: [describeJoint(place, joint)] }]),
  ])
}

function judgeFunctions(place: string, { table }: Subjects, outcomes: readonly Outcome[]): Trial {
  const tried = outcomes.flatMap(({ of, before, after }) =>
    typeof of === 'string' || before !== undefined ? [] : [{ of, after }],
  )
  return {
    ...UNTRIED,
    functions: tried.flatMap(({ of, after }) => (after === undefined ? [] : [describeFunction(place, of, after)])),
    judged: tried.map(({ of }) => ({ function: of.name, table })),
  }
}

function doubt(line: string): Trial {
  return { ...UNTRIED, doubts: [line] }
}

/** @param failed what has failed while all triggers fire */
function judgeTrigger(
  { place, table }: { readonly place: string; readonly table: string },
  trigger: Trigger,
  { alone, failed }: { readonly alone: readonly Outcome[]; readonly failed: readonly Outcome[] },
): Trial {
  const failure = alone.find(({ after }) => isFailure(after))
  if (failure !== undefined)
    return {
      ...UNTRIED,
      triggers: [describeTrigger(place, trigger, failure)],
      judged: [{ function: trigger.function, table }],
    }
  const untried = alone.find(
    ({ of, before, after }) => (before ?? after) !== undefined && failed.some((each) => each.of === of),
  )
  return untried === undefined ? UNTRIED : { ...UNTRIED, doubts: [describeDoubt(place, trigger, untried)] }
}

function isFailure(error: Failure | undefined): boolean {
  return error !== undefined && !error.isTimeout
}

/** The words of PostgreSQL without the value that they end with, such as a row with the hash of a password. */
function wordsOf(error: Failure | undefined): string {
  return (error?.message ?? '').replace(/: ".*$/s, '').slice(0, WORDS_MAX)
}

function describeTrigger(place: string, { name, function: runs }: Trigger, { of, after }: Outcome): string {
  return `the trigger ${name} on ${place}, which runs ${runs}, fails once the table gets columns of this service, and with it each ${of} there, such as a sign-in: ${wordsOf(after)}. Name the columns that the function needs, or drop the trigger`
}

function describeJoint(place: string, { of, after }: Outcome): string {
  return `each ${of} of ${place} fails once the table gets columns of this service, and with it what does it, such as a sign-in: ${wordsOf(after)}. Find the trigger that fails, and name the columns that its function needs, or drop it`
}

function describeDoubt(place: string, { name, function: runs }: Trigger, { of, before, after }: Outcome): string {
  return `the trigger ${name} on ${place} was not tried for each ${of}, since it fails without columns of this service too (${wordsOf(before ?? after)}): see that ${runs} takes no whole row of the table`
}

function describeFunction(place: string, { name }: SqlFunction, error: Failure): string {
  return `the function ${name} fails once ${place} gets columns of this service: ${wordsOf(error)}. Name the columns in it that it needs, or drop it; --force goes on all the same`
}

function describeUntried(place: string, { role, names }: UntriedFunctions): string {
  return `functions in SQL that name ${place} were not tried, since ${role} could have had code of their own run by that: see that they take no whole row of the table: ${names.join(', ')}`
}

/** Why triggers and functions cannot be tried. */
interface Hindrance {
  readonly triggers: string | undefined
  readonly functions: string | undefined
}

async function findHindrance(db: QueryExecutorProvider, reach: TrialReach): Promise<Hindrance> {
  const { rows } = await sql<{ isReadOnly: boolean; outward: string | null }>`
    SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly", (
      SELECT min(name) FROM (
        SELECT format('the extension %s', extname) AS name FROM pg_extension WHERE extname = ANY (${OUTWARD}::text[])
        UNION ALL SELECT format('the language %s', lanname) FROM pg_language WHERE NOT lanpltrusted AND lanname <> ALL ('{internal,c}')
      ) acting) AS outward`.execute(db)
  const { isReadOnly = false, outward = null } = rows[0] ?? {}
  if (isReadOnly) {
    const reason = 'the database allows reading alone: run this on the primary'
    return { triggers: reason, functions: reason }
  }
  const reason = `${outward} may act outside of the database, which nothing takes back: auth adopt --prepare tries them`
  return { triggers: reach === 'anything' || outward === null ? undefined : reason, functions: undefined }
}

/** The triggers of others that fire when the old service writes. */
async function listTriggers(db: QueryExecutorProvider, names: Names, table: string): Promise<readonly Trigger[]> {
  const { rows } = await sql<Trigger>`
    SELECT tgname::text AS name, format('%s', tgfoid::regprocedure) AS "function", tgtype::int AS tgtype, tgenabled = 'A' AS "isAlways"
    FROM pg_trigger WHERE tgrelid = to_regclass(format('%I.%I', ${names.schema}::text, ${table}::text))
      AND NOT tgisinternal AND tgname <> ${NOTING_TRIGGER} AND tgenabled IN ('O', 'A') ORDER BY tgname`.execute(db)
  return rows
}
