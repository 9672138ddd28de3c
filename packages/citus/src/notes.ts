import { migratorTable } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { isWorker, literal } from './citus.ts'

/**
 * Whether a database is distributed (the README has a diagram of the states). `plain`: all rows are on one
 * server. While it is `distributing` or `undoing`, rows move: `migrate` refuses to run, and processes refuse
 * to write.
 */
export type DistributionState = 'plain' | 'distributing' | 'distributed' | 'undoing'

/** An object that is dropped for a while, and the statement that makes it again. */
export interface NotedObject {
  /** `foreign key app_keys.app_keys_app_fk` */
  readonly object: string
  readonly statement: string
}

const STATE = 'state'
const STATES: ReadonlySet<string> = new Set(['distributing', 'distributed', 'undoing'])

/** The state of the database. A database that was never distributed has no table of states, and is plain. */
export async function readState(db: QueryExecutorProvider, names: Names): Promise<DistributionState> {
  if (!(await hasNotes(db, names))) return 'plain'
  const { rows } = await sql<{ statement: string }>`
    SELECT statement FROM ${table(names)} WHERE object = ${STATE}`.execute(db)
  const state = rows[0]?.statement
  return isState(state) ? state : 'plain'
}

export function isRebalancing(state: DistributionState): boolean {
  return state === 'distributing' || state === 'undoing'
}

/** @throws Error when the server is a worker of a cluster: only the coordinator has all tables, and may change them */
export async function expectCoordinator(db: QueryExecutorProvider): Promise<void> {
  if (await isWorker(db)) {
    throw new Error('this server is a worker of a Citus cluster: use the address of its coordinator')
  }
}

/**
 * @throws Error when the server is a worker of a cluster, when rows are moving, or when a run that moved them
 * was killed: only another run of it continues
 */
export async function expectWhole(db: QueryExecutorProvider, names: Names): Promise<void> {
  await expectCoordinator(db)
  const state = await readState(db, names)
  if (state === 'distributing') throw new Error('the database is being distributed: run distribute again')
  if (state === 'undoing') throw undoUnfinished()
}

/** The error of a command that must wait until another `distribute --undo` has ended. */
export function undoUnfinished(): Error {
  return new Error('the distribution is being undone: run distribute --undo again')
}

function isState(text: string | undefined): text is DistributionState {
  return text !== undefined && STATES.has(text)
}

/** The statements that note a state. `plain` is no row. */
export function stateStatements(names: Names, state: DistributionState): readonly string[] {
  const own = tableText(names)
  if (state === 'plain') return [`DELETE FROM ${own} WHERE object = '${STATE}'`]
  return [
    `CREATE TABLE IF NOT EXISTS ${own} (object text COLLATE "C" PRIMARY KEY, statement text NOT NULL)`,
    // Every process of the service asks for the state. A role without rights on the schema cannot read it.
    `GRANT SELECT ON ${own} TO PUBLIC`,
    `INSERT INTO ${own} VALUES ('${STATE}', '${state}') ON CONFLICT (object) DO UPDATE SET statement = excluded.statement`,
  ]
}

/** The statement that notes an object. What an earlier run has noted stays: it may have dropped the object. */
export function notingStatement(names: Names, { object, statement }: NotedObject): string {
  return `INSERT INTO ${tableText(names)} VALUES (${literal(object)}, ${literal(statement)}) ON CONFLICT (object) DO NOTHING`
}

/** The statement that deletes the notes of objects, once all objects exist again. */
export function forgettingStatement(names: Names): string {
  return `DELETE FROM ${tableText(names)} WHERE object <> '${STATE}'`
}

/** The noted objects of a kind, such as `foreign key`, in the order of their names. */
export async function listNotes(
  db: QueryExecutorProvider,
  names: Names,
  kind: NoteKind,
): Promise<readonly NotedObject[]> {
  if (!(await hasNotes(db, names))) return []
  const { rows } = await sql<NotedObject>`
    SELECT object, statement FROM ${table(names)} WHERE starts_with(object, ${`${kind} `}) ORDER BY object`.execute(db)
  return rows
}

/** The kind of an object that is dropped while tables move. Its definition is noted until the object exists again. */
type NoteKind = 'foreign key' | 'type' | 'comment' | 'options'

async function hasNotes(db: QueryExecutorProvider, names: Names): Promise<boolean> {
  const { rows } = await sql<{
    exists: boolean
  }>`SELECT to_regclass(${tableText(names)}) IS NOT NULL AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

function table(names: Names) {
  return sql.id(names.schema, migratorTable(names, 'trestle_distribution'))
}

function tableText(names: Names): string {
  return `"${names.schema}"."${migratorTable(names, 'trestle_distribution')}"`
}

/** How often each process asks whether rows are moving. */
const POLL_MS = 1_000
/**
 * How long a run waits before it moves rows, in milliseconds: until every process has asked, and has refused to write since. A
 * process that gets no answer for longer cannot write either.
 */
export const NOTICE_MS = 3 * POLL_MS

/** A poll for the state of a database, once a second until `stop`. */
interface StateFollower {
  readonly stop: () => void
}

interface FollowOptions {
  readonly db: QueryExecutorProvider
  readonly names: Names
  /** The state that the process began with. */
  readonly state: DistributionState
  /** Called when the state has changed, and again with the next poll when the call fails. */
  readonly onChange: (state: DistributionState) => Promise<void>
  readonly onError: (error: Error) => void
}

/**
 * Reads the state of a database once a second. While the database does not answer, the last state counts.
 */
export function followState({ db, names, state, onChange, onError }: FollowOptions): StateFollower {
  let last = state
  let isAsking = false
  const reportChange = async (): Promise<void> => {
    const found = await readState(db, names).catch(() => last)
    if (found === last) return
    await onChange(found)
    last = found
  }
  const timer = setInterval(async () => {
    // Without this, questions to a server that does not answer would pile up.
    if (isAsking) return
    isAsking = true
    await reportChange().catch(onError)
    isAsking = false
  }, POLL_MS).unref()
  return { stop: () => clearInterval(timer) }
}
