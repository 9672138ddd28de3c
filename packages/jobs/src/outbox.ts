import { type Kysely, sql } from 'kysely'
import type { Jobs } from './jobs.ts'

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
  readonly jobs: Pick<Jobs, 'insert'>
  readonly onError: (error: Error) => void
  /** How rows are taken; by default those of a table (id, task, data), each of which is a job. */
  readonly take?: TakeRows
}

/** Deletes at most `limit` rows that no other process is at. Answers how many they were, and their jobs: none, one or more. */
export type TakeRows = (
  // biome-ignore lint/suspicious/noExplicitAny: as above
  trx: Kysely<any>,
  limit: number,
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
        while (await moveBatch(options)) {
          // As long as batches are full there may be more.
        }
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

/** @returns whether the batch was full */
async function moveBatch({ db, jobs, take = takeJobs }: OutboxOptions): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { rows, entries } = await take(trx, BATCH)
    if (entries.length > 0) await jobs.insert(trx, entries)
    return rows === BATCH
  })
}

const takeJobs: TakeRows = async (trx, limit) => {
  const outbox = sql.table('outbox')
  const { rows } = await sql<OutboxEntry>`
    DELETE FROM ${outbox} WHERE id = ANY (ARRAY(
      SELECT id FROM ${outbox} ORDER BY id LIMIT ${sql.lit(limit)} FOR UPDATE SKIP LOCKED))
    RETURNING task, data`.execute(trx)
  return { rows: rows.length, entries: rows }
}
