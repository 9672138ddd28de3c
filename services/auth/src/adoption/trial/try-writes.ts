import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { listOpenTriggers, namedIn } from '../../schema/catalog.ts'
import { NOTING_TRIGGER } from '../../schema/own-objects.ts'
import { gaining, listGaining } from '../changes/added-columns.ts'
import { type Failure, type Outcome, runTrial, type SqlFunction, type Subjects, type Trigger } from './run-trial.ts'

interface Trial {
  /** Triggers that fail after their table gets the columns of this service. Each write of the old service would then fail too. */
  readonly triggers: readonly string[]
  /** Functions that fail after the table gets the columns. */
  readonly functions: readonly string[]
  /** Triggers and functions that could not be tested. */
  readonly doubts: readonly string[]
  /** Functions that PostgreSQL has checked, so that their text need not be searched. */
  readonly judged: readonly JudgedFunction[]
}

export interface JudgedFunction {
  /** The name, as `regprocedure` writes it. */
  readonly function: string
  readonly table: string
}

/** Whether triggers may run that can have effects outside the transaction. A rollback does not revert such effects. */
export type TrialReach = 'anything' | 'nothing outside'

export const UNTRIED: Trial = { triggers: [], functions: [], doubts: [], judged: [] }
/** Extensions whose functions have effects outside the transaction, even after a rollback. */
const OUTWARD = ['dblink', 'http', 'wrappers']
/** A limit, because a trigger may raise an error with any text. */
const WORDS_MAX = 200

/**
 * Adds the columns of this service to each table that needs them, runs the triggers of other programs, parses their functions,
 * and rolls back. The text of a function does not show how it uses a row. A function that fails on the present table cannot be
 * judged. Tables without such triggers and functions are not locked.
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

/** Tests all triggers together, as they fire in practice. If that fails, tests each trigger alone to find those that fail. */
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

/** @param failed the failure with all triggers */
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

/** Returns PostgreSQL's error message without the value at its end, which may be a row with a password hash. */
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

/** Returns the triggers of other programs that fire on writes of the old service. */
async function listTriggers(db: QueryExecutorProvider, names: Names, table: string): Promise<readonly Trigger[]> {
  const { rows } = await sql<Trigger>`
    SELECT tgname::text AS name, format('%s', tgfoid::regprocedure) AS "function", tgtype::int AS tgtype, tgenabled = 'A' AS "isAlways"
    FROM pg_trigger WHERE tgrelid = to_regclass(format('%I.%I', ${names.schema}::text, ${table}::text))
      AND NOT tgisinternal AND tgname <> ${NOTING_TRIGGER} AND tgenabled IN ('O', 'A') ORDER BY tgname`.execute(db)
  return rows
}

/** The functions in SQL that a trial parses on a table, and those that it does not parse. */
interface SqlFunctions {
  readonly tried: readonly SqlFunction[]
  /** The functions that are not parsed, grouped by the role whose code PostgreSQL could run during parsing. */
  readonly untried: readonly UntriedFunctions[]
}

interface UntriedFunctions {
  readonly role: string
  /** The names in the format of `regprocedure`. */
  readonly names: readonly string[]
}

interface Found extends SqlFunction {
  readonly strangers: readonly string[]
}

/**
 * Finds the functions in SQL that name a table, take a row of it or return one. PostgreSQL parses the body when such a function
 * is created, unless its callers define its result.
 *
 * Parsing a body may run code with the rights of the parsing role. For example, the input of a type checks its domains, whose
 * conditions are code of their owner. So a function is tested only if no untrusted role owns it or could have created an
 * operator, a function or a type in its search path. A role is trusted if it may create triggers on the table, owns the function
 * of such a trigger, or may act as the owner of the table. Its code runs with the owner's rights in any case.
 */
async function listSqlFunctions(db: QueryExecutorProvider, names: Names, table: string): Promise<SqlFunctions> {
  const { rows } = await sql<Found>`
    WITH ${await gaining(names)},
    member AS (
      SELECT oid, rolname::text AS name, CASE rolname WHEN 'pg_database_owner'
        THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE oid END AS acting FROM pg_roles),
    stranger AS (
      SELECT 0::oid AS oid, 'PUBLIC' AS name
      UNION ALL SELECT r.oid, r.name FROM gaining m JOIN pg_class c ON c.oid = m.oid CROSS JOIN member r
        WHERE m.name = ${table} AND NOT has_table_privilege(r.acting, c.oid, 'TRIGGER') AND NOT pg_has_role(r.acting, c.relowner, 'MEMBER')
          AND NOT EXISTS (
            SELECT FROM pg_trigger t JOIN pg_class o ON o.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE o.relowner = c.relowner AND p.proowner = r.oid AND NOT t.tgisinternal)),
    planted AS (
      SELECT n.nspname, s.name FROM stranger s JOIN (
        SELECT oid, nspowner AS role FROM pg_namespace
        UNION SELECT p.oid, a.grantee FROM pg_namespace p CROSS JOIN aclexplode(p.nspacl) a WHERE a.privilege_type = 'CREATE'
        UNION SELECT oprnamespace, oprowner FROM pg_operator
        UNION SELECT pronamespace, proowner FROM pg_proc) w ON w.role = s.oid JOIN pg_namespace n ON n.oid = w.oid),
    named AS (
      SELECT f.*, n.nspname, (
          SELECT substr(setting, ${'search_path='.length + 1}::int) FROM unnest(f.proconfig) setting
          WHERE setting LIKE 'search_path=%') AS own_path
      FROM gaining m JOIN pg_proc f ON f.prokind IN ('f', 'p') JOIN pg_namespace n ON n.oid = f.pronamespace
      JOIN pg_language l ON l.oid = f.prolang
      WHERE m.name = ${table} AND l.lanname = 'sql' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND (f.prorettype <> 'record'::regtype OR f.proallargtypes IS NOT NULL)
        AND ((${namedIn(names.schema)}) OR f.prorettype = m.reltype OR m.reltype = ANY (f.proargtypes) OR EXISTS (
          SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = m.oid)))
    SELECT format('%s', f.oid::regprocedure) AS name, format('%I, public, extensions', f.nspname) AS path,
      -- A name may have any character.
      concat('CREATE ', CASE f.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, ' pg_temp.trestle_trial', substr(d.text, strpos(d.text, d.name) + length(d.name))) AS copy,
      ARRAY (
        SELECT s.name FROM stranger s WHERE s.oid = f.proowner
        UNION SELECT p.name FROM planted p WHERE p.nspname = ANY (CASE WHEN f.own_path IS NULL
          THEN ARRAY[f.nspname::text, 'public', 'extensions']
          ELSE (SELECT array_agg(CASE e WHEN '"$user"' THEN current_user::text ELSE btrim(e, '"') END)
            FROM (SELECT btrim(each) AS e FROM unnest(string_to_array(f.own_path, ',')) AS each) parts) END)
        ORDER BY 1) AS strangers
    FROM named f CROSS JOIN LATERAL (
      SELECT pg_get_functiondef(f.oid) AS text, concat(quote_ident(f.nspname), '.', quote_ident(f.proname)) AS name) d
    ORDER BY name`.execute(db)
  const untried = Map.groupBy(
    rows.flatMap(({ name, strangers }) => strangers.map((role) => ({ role, name }))),
    ({ role }) => role,
  )
  return {
    tried: rows.filter(({ strangers }) => strangers.length === 0).map(({ name, path, copy }) => ({ name, path, copy })),
    untried: [...untried].map(([role, all]) => ({ role, names: all.map(({ name }) => name) })),
  }
}
