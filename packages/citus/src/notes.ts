import { migratorTable } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { isWorker, literal } from './citus.ts'

/**
 * Whether a database is distributed (the README has a diagram of the states). `plain` means that all rows are on one server. Rows
 * move during `distributing` and `undoing`. In these states `migrate` refuses to run, and processes refuse writes.
 */
export type DistributionState = 'plain' | 'distributing' | 'distributed' | 'undoing'

/** An object that is temporarily dropped, and the statement that creates it again. */
export interface NotedObject {
  /** For example, `foreign key app_keys.app_keys_app_fk`. */
  readonly object: string
  readonly statement: string
}

const STATE = 'state'
const STATES: ReadonlySet<string> = new Set(['distributing', 'distributed', 'undoing'])

/** Returns the state of the database. A database that was never distributed has no table of states. Its state is `plain`. */
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

/** @throws Error if the server is a worker of a cluster. Only the coordinator has all tables and may change them. */
export async function expectCoordinator(db: QueryExecutorProvider): Promise<void> {
  if (await isWorker(db)) {
    throw new Error('this server is a worker of a Citus cluster: use the address of its coordinator')
  }
}

/**
 * @throws Error if the server is a worker of a cluster, if rows are moving, or if a run that moved rows was killed. Only another
 * run of the same command can continue then.
 */
export async function expectWhole(db: QueryExecutorProvider, names: Names): Promise<void> {
  await expectCoordinator(db)
  const state = await readState(db, names)
  if (state === 'distributing') throw new Error('the database is being distributed: run distribute again')
  if (state === 'undoing') throw undoUnfinished()
}

/** Returns the error of a command that must wait until an operator has completed `distribute --undo`. */
export function undoUnfinished(): Error {
  return new Error('the distribution is being undone: run distribute --undo again')
}

function isState(text: string | undefined): text is DistributionState {
  return text !== undefined && STATES.has(text)
}

/** Returns the statements that store a state. The state `plain` is stored as the absence of the row. */
export function stateStatements(names: Names, state: DistributionState): readonly string[] {
  const own = tableText(names)
  if (state === 'plain') return [`DELETE FROM ${own} WHERE object = '${STATE}'`]
  return [
    `CREATE TABLE IF NOT EXISTS ${own} (object text COLLATE "C" PRIMARY KEY, statement text NOT NULL)`,
    // Every process of the service polls the state. A role without rights on the schema still cannot read it.
    `GRANT SELECT ON ${own} TO PUBLIC`,
    `INSERT INTO ${own} VALUES ('${STATE}', '${state}') ON CONFLICT (object) DO UPDATE SET statement = excluded.statement`,
  ]
}

/** Returns the statement that notes an object. It keeps an earlier note, because the object may be dropped already. */
export function notingStatement(names: Names, { object, statement }: NotedObject): string {
  return `INSERT INTO ${tableText(names)} VALUES (${literal(object)}, ${literal(statement)}) ON CONFLICT (object) DO NOTHING`
}

/** Returns the statement that deletes the notes of objects. It runs after all objects exist again. */
export function forgettingStatement(names: Names): string {
  return `DELETE FROM ${tableText(names)} WHERE object <> '${STATE}'`
}

/** Returns the noted objects of a kind, such as `foreign key`, ordered by name. */
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

/** How often each process polls whether rows are moving. */
const POLL_MS = 1_000
/**
 * How long a run waits before it moves rows, in milliseconds. Within this time every process has polled the state and refuses
 * writes. A process that gets no answer for longer cannot write either.
 */
export const NOTICE_MS = 3 * POLL_MS

/** A poll of the database state. It runs once a second until `stop`. */
interface StateFollower {
  readonly stop: () => void
}

interface FollowOptions {
  readonly db: QueryExecutorProvider
  readonly names: Names
  /** The state when the process started. */
  readonly state: DistributionState
  /** Called when the state has changed. If the call fails, the next poll calls it again. */
  readonly onChange: (state: DistributionState) => Promise<void>
  readonly onError: (error: Error) => void
}

/** Polls the state of a database once a second. If the database does not answer, the last known state applies. */
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
    // Skip this poll if the previous one still runs. Otherwise polls of an unresponsive server would pile up.
    if (isAsking) return
    isAsking = true
    await reportChange().catch(onError)
    isAsking = false
  }, POLL_MS).unref()
  return { stop: () => clearInterval(timer) }
}
