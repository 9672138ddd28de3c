import { type Kysely, sql } from 'kysely'

/** A job as a function of the database writes it into the table `outbox`; `data` comes from `jobs.prepare`. */
export interface OutboxEntry {
  /** Name of its task. */
  readonly task: string
  readonly data: object
}

/**
 * Moves what functions of the database have written into the table `outbox` on to the queue. A row is deleted in the
 * transaction that adds its job, so that nothing is lost and nothing is added twice.
 */
export interface Outbox {
  /** Moves soon, without being waited for: called after the commit that has written, so that nothing waits for a poll. */
  wake(): void
  /** Begins to move, and to look every second for what another process has left. */
  start(): void
  /** Ends after the batch that is under way. */
  stop(): Promise<void>
}

export interface OutboxOptions {
  // biome-ignore lint/suspicious/noExplicitAny: the outbox of any service
  readonly db: Kysely<any>
  readonly jobs: {
    /** Adds prepared jobs of one task to the queue. */
    // biome-ignore lint/suspicious/noExplicitAny: a transaction over the tables of any service
    insert(trx: Kysely<any>, task: string, entries: readonly OutboxEntry[]): Promise<void>
  }
  readonly onError: (error: Error) => void
  /** How rows are taken; by default those of a table (id, task, data), each of which is a job. */
  readonly take?: TakeRows
}

/**
 * Deletes at most `limit` rows that no other process is at, without those whose jobs are of the tasks `left`. Answers how
 * many they were, and their jobs: none, one or more.
 */
export type TakeRows = (
  // biome-ignore lint/suspicious/noExplicitAny: as above
  trx: Kysely<any>,
  limit: number,
  left: readonly string[],
) => Promise<{ readonly rows: number; readonly entries: readonly OutboxEntry[] }>

const POLL_MS = 1_000
const BATCH = 100

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
  const wake = () => {
    if (timer === undefined) return
    if (running) again = true
    else running = run()
  }
  return {
    wake,
    start: () => {
      timer ??= setInterval(wake, POLL_MS)
      wake()
    },
    stop: async () => {
      clearInterval(timer)
      timer = undefined
      await running
    },
  }
}

/** A task whose jobs the queue has not taken: one that only a newer version of the service knows, for example. */
class TaskRefused extends Error {
  readonly task: string
  constructor(task: string, cause: unknown) {
    super(`jobs of task ${task} stay in the outbox: ${cause instanceof Error ? cause.message : cause}`, { cause })
    this.task = task
  }
}

/** Moves batches as long as they are full. Rows that the queue does not take stay where they are, and hold up no others. */
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
  return db.transaction().execute(async (trx) => {
    const { rows, entries } = await take(trx, BATCH, left)
    for (const [task, ofTask] of Map.groupBy(entries, (entry) => entry.task)) {
      await jobs.insert(trx, task, ofTask).catch((cause) => {
        throw new TaskRefused(task, cause)
      })
    }
    return rows === BATCH
  })
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
