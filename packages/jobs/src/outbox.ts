import { sql } from 'kysely'
import type { JobTransaction } from './queue.ts'

/** A job as an SQL function writes it into the table `outbox`. `data` comes from `jobs.prepare`. */
export interface OutboxEntry {
  readonly task: string
  readonly data: object
  /** The UUID of the job. The queue adds a job with a known id only once. By default the queue chooses an id. */
  readonly id?: string
  /** The group of the job, such as its merchant (`TaskOptions.groups`). If `undefined`, the job has no group. */
  readonly group?: string
  /** The share of the job in seconds (`SendOptions`). If `undefined`, the default share applies. */
  readonly shareSeconds?: number
}

/**
 * Moves jobs from the table `outbox` to the queue. A row is deleted in the database transaction that adds its job, so that no job
 * is lost or added twice.
 */
export interface Outbox {
  /** Moves jobs soon, in the background. Call it after the commit of the jobs, so that they do not wait for a poll. */
  readonly wake: () => void
  /** Starts to move jobs, and to check every second for jobs that other processes have not moved. */
  readonly start: () => void
  /** Stops after the current batch. */
  readonly stop: () => Promise<void>
}

export interface OutboxOptions {
  /** The database of the service, with any tables. */
  readonly db: { transaction(): { execute<T>(work: (trx: JobTransaction) => Promise<T>): Promise<T> } }
  readonly jobs: {
    /** Adds prepared jobs of one task to the queue. */
    insert(trx: JobTransaction, task: string, entries: readonly OutboxEntry[]): Promise<void>
    /** Looks for jobs of a task immediately. Called after the commit that added the jobs. */
    wake(task: string): void
  }
  readonly onError: (error: Error) => void
  /** How to take rows. The default reads a table with the columns id, task and data, and one job per row. */
  readonly take?: TakeRows
}

/**
 * Deletes at most `limit` rows that no other process has locked, except jobs of the tasks in `left`.
 * @returns the number of rows and their jobs; a row may have no job, one or several
 */
export type TakeRows = (trx: JobTransaction, limit: number, left: readonly string[]) => Promise<TakenRows>

export interface TakenRows {
  readonly rows: number
  readonly entries: readonly OutboxEntry[]
  /**
   * Deletes the rows after the commit that added their jobs, if no database transaction can contain both, because the queue is on
   * another server. The jobs have ids, so a row that is taken again adds no second job. Otherwise `undefined`.
   */
  readonly remove?: () => Promise<void>
}

const POLL_MS = 1_000
const BATCH_ROWS = 100

/** Returns the outbox of a service. It moves no jobs until `start` is called. */
export function createOutbox(options: OutboxOptions): Outbox {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let again = false
  const run = async (): Promise<void> => {
    try {
      do {
        again = false
        await moveAll(options)
      } while (again)
    } catch (error) {
      options.onError(error instanceof Error ? error : new Error(String(error)))
    } finally {
      running = undefined
    }
  }
  const wake = (): void => {
    if (timer === undefined) return
    if (running) again = true
    else running = run()
  }
  return {
    wake,
    start: (): void => {
      timer ??= setInterval(wake, POLL_MS)
      wake()
    },
    stop: async (): Promise<void> => {
      clearInterval(timer)
      timer = undefined
      await running
    },
  }
}

/** The queue has refused the jobs of a task, for example because only a later release has the task. */
class TaskRefused extends Error {
  readonly task: string
  constructor(task: string, cause: unknown) {
    super(`jobs of task ${task} stay in the outbox: ${cause instanceof Error ? cause.message : cause}`, { cause })
    this.task = task
  }
}

/** Moves batches until a batch is not full. Rows that the queue refuses stay in the outbox and do not delay other rows. */
async function moveAll(options: OutboxOptions): Promise<void> {
  const left = new Set<string>()
  for (;;) {
    try {
      if (!(await moveBatch(options, [...left]))) return
    } catch (error) {
      if (!(error instanceof TaskRefused) || left.has(error.task)) throw error
      left.add(error.task)
      options.onError(error)
    }
  }
}

/** @returns whether the batch was full */
async function moveBatch({ db, jobs, take = takeJobs }: OutboxOptions, left: readonly string[]): Promise<boolean> {
  const { rows, entries, remove } = await db.transaction().execute(async (trx) => {
    const taken = await take(trx, BATCH_ROWS, left)
    for (const [task, ofTask] of Map.groupBy(taken.entries, (entry) => entry.task)) {
      await jobs.insert(trx, task, ofTask).catch((cause) => {
        throw new TaskRefused(task, cause)
      })
    }
    return taken
  })
  for (const task of new Set(entries.map((entry) => entry.task))) jobs.wake(task)
  await remove?.()
  return rows === BATCH_ROWS
}

const takeJobs: TakeRows = async (trx, limit, left) => {
  const outbox = sql.table('outbox')
  const { rows } = await sql<OutboxEntry>`
    DELETE FROM ${outbox} WHERE id = ANY (ARRAY(
      SELECT id FROM ${outbox} WHERE task <> ALL (${left}::text[])
      ORDER BY id LIMIT ${sql.lit(limit)} FOR UPDATE SKIP LOCKED))
    RETURNING task, data`.execute(trx)
  return { rows: rows.length, entries: rows }
}
