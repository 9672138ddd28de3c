import type { Counter, Meter } from '@opentelemetry/api'
import type { Kysely } from 'kysely'
import type { JobResult, JobWithMetadata, WipData } from 'pg-boss'
import type { OutboxEntry } from './outbox.ts'
import { openQueue, type Queue, type QueueConfig, retryDead } from './queue.ts'
import { openPayload, type SealedPayload, type SealKeys, sealPayload } from './seal.ts'
import type { AnyTask, Task } from './task.ts'

export interface JobsConfig extends QueueConfig {
  /** 32 bytes each, for payloads of sealed tasks: the first seals, all of them open. */
  readonly sealKeys: SealKeys
  readonly meter: Meter
  /** The clock by which pg-boss goes: milliseconds since 1970. */
  readonly now: () => number
  /** After how many milliseconds without a look for jobs a worker counts as stopped; SILENT_MS by default. */
  readonly silentMs?: number
}

export interface SendOptions {
  readonly startAfterSeconds?: number
}

/** What `jobs_total` tells of an attempt: the two of a handler, a failure that is not the last, and the last. */
const OUTCOMES = ['done', 'dropped', 'retry', 'dead'] as const

/** What became of an attempt: `dropped` is work that no longer makes sense, for example a mail to a user who is gone. */
export type Outcome = 'done' | 'dropped'

/** Thrown by a handler where no later attempt could do better: the job has failed for good. */
export class Hopeless extends Error {
  override readonly name = 'Hopeless'
}

/** Does one job. Another error than `Hopeless` means: try again later. */
export type Handler<Payload> = (
  payload: Payload,
  job: { readonly id: string; readonly attempt: number },
) => Promise<Outcome>

/** The service's background work. */
export interface Jobs {
  /** Connects, once `after` has resolved. What is asked of the others meanwhile waits; before it, they reject. */
  open(after?: Promise<void>): Promise<void>
  /** Adds a job in the transaction of its cause; it runs after the commit, or never. Resolves to the job's id. */
  send<Payload extends object>(
    // biome-ignore lint/suspicious/noExplicitAny: a transaction over the tables of any service
    trx: Kysely<any>,
    task: Task<Payload>,
    payload: Payload,
    options?: SendOptions,
  ): Promise<string>
  /**
   * Does a job in this process, now: one that was sent with a `startAfterSeconds` beyond the task's `timeoutSeconds`, so that
   * no worker takes it meanwhile. The job ends, unless the attempt throws: then the queue goes on with it when it is due.
   */
  run(task: AnyTask, id: string, attempt: () => Promise<Outcome>): Promise<Outcome>
  /** Makes a job that a function of the database will write into the table `outbox`. */
  prepare<Payload extends object>(task: Task<Payload>, payload: Payload): Promise<OutboxEntry>
  /** Adds prepared jobs of one task. */
  // biome-ignore lint/suspicious/noExplicitAny: as for `send`
  insert(trx: Kysely<any>, task: string, entries: readonly Pick<OutboxEntry, 'data'>[]): Promise<void>
  /** Takes jobs of a task, at most eight at once in this process, as soon as they are committed. */
  work<Payload extends object>(task: Task<Payload>, handler: Handler<Payload>): Promise<void>
  /** Adds a job of a task at each time of a cron expression (UTC), once among all processes. */
  schedule(task: Task<Record<string, never>>, cron: string): Promise<void>
  /** Puts jobs of a task that have failed for good back into its queue, with all their attempts; answers how many. */
  retryDead(task: AnyTask): Promise<number>
  /** Throws unless the queue is open and the worker of each task looks for jobs, or is busy with one. */
  check(): Promise<void>
  /** Finishes what runs, as far as it ends in so many milliseconds (what does not is tried again), then disconnects. */
  close(withinMs?: number): Promise<void>
}

const POLL_SECONDS = 2
/** Longer than a look for jobs that gets no answer, so that the next one counts. */
const SILENT_MS = 60_000
// A worker fetches once in POLL_SECONDS unless it is notified or its last batch was full: one job a fetch would make a
// backlog of mails go out at one in two seconds.
const WORK_OPTIONS = {
  includeMetadata: true,
  perJobResults: true,
  // A batch ends with its slowest job: while one hangs, the other worker goes on.
  localConcurrency: 2,
  batchSize: 4,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: POLL_SECONDS,
  notifyPollingIntervalSeconds: POLL_SECONDS,
} as const
/** Of the time for closing, in milliseconds: kept back for giving up what still runs. */
const GIVE_UP_MS = 2_000
const CLOSE_MS = 25_000

export function createJobs(config: JobsConfig): Jobs {
  const outcomes = config.meter.createCounter('jobs_total', { description: 'Attempts of background jobs by outcome' })
  let opening: Promise<Queue> | undefined
  const queue = () => opening ?? Promise.reject(new Error('the job queue is not open'))
  const own = createOwnRuns(queue, outcomes)
  const { silentMs = SILENT_MS } = config
  let running = false
  const toData = async <Payload extends object>(task: Task<Payload>, payload: Payload): Promise<object> =>
    task.sealed ? sealPayload(config.sealKeys, payload) : payload
  return {
    open: async (after = Promise.resolve()) => {
      opening ??= after.then(() => openQueue(config))
      await opening
      running = true
    },
    send: async (trx, task, payload, options = {}) => {
      const { boss, fromKysely } = await queue()
      const id = await boss.send(task.name, await toData(task, payload), {
        db: fromKysely(trx),
        ...(options.startAfterSeconds === undefined ? {} : { startAfter: options.startAfterSeconds }),
      })
      if (id === null) throw new Error(`job of task ${task.name} was not taken`)
      return id
    },
    run: own.run,
    prepare: async (task, payload) => ({ task: task.name, data: await toData(task, payload) }),
    insert: async (trx, task, entries) => {
      const queued = entries.map(({ data }) => ({ data }))
      const { boss, fromKysely } = await queue()
      await boss.insert(task, queued, { db: fromKysely(trx) })
    },
    work: async (task, handler) => {
      // A rise is seen from 0 on, not from nothing.
      for (const outcome of OUTCOMES) outcomes.add(0, { task: task.name, outcome })
      const attempt = runAttempt(config, task, handler)
      const settle = async (job: JobWithMetadata<object>): Promise<JobResult> => {
        try {
          outcomes.add(1, { task: task.name, outcome: await withinTime(task, () => attempt(job)) })
          return { id: job.id, status: 'completed' }
        } catch (error) {
          const isDead = error instanceof Hopeless || job.retryCount >= job.retryLimit
          outcomes.add(1, { task: task.name, outcome: isDead ? 'dead' : 'retry' })
          return {
            id: job.id,
            status: isDead ? 'deadletter' : 'failed',
            output: { message: error instanceof Error ? error.message : String(error) },
          }
        }
      }
      const { boss } = await queue()
      await boss.work(task.name, WORK_OPTIONS, (jobs: JobWithMetadata<object>[]) => Promise.all(jobs.map(settle)))
    },
    schedule: async (task, cron) => (await queue()).boss.schedule(task.name, cron, {}, { tz: 'UTC' }),
    retryDead: async (task) => retryDead((await queue()).boss, task),
    check: async () => {
      if (!running) throw new Error('the job worker does not run')
      const { boss } = await queue()
      const now = config.now()
      const silent = boss.getWipData().find((worker) => !isBusy(worker) && lastSeen(worker) < now - silentMs)
      if (silent !== undefined) throw new Error(`no worker has looked for jobs of ${silent.name} lately`)
    },
    close: async (withinMs = CLOSE_MS) => {
      if (opening === undefined) return
      running = false
      const giveUpAt = performance.now() + withinMs - GIVE_UP_MS
      await own.settled(withinMs - GIVE_UP_MS)
      const { boss } = await opening
      await boss.stop({ graceful: true, timeout: Math.max(0, Math.round(giveUpAt - performance.now())) })
    },
  }
}

/** A worker that could not tell what became of its jobs keeps them listed. */
function isBusy({ count, lastJobStartedOn, lastErrorOn }: WipData): boolean {
  return count > 0 && (lastErrorOn ?? 0) < (lastJobStartedOn ?? 0)
}

function lastSeen({ createdOn, lastFetchedOn, lastJobEndedOn }: WipData): number {
  return Math.max(createdOn, lastFetchedOn ?? 0, lastJobEndedOn ?? 0)
}

/** Jobs that this process does without a worker. */
function createOwnRuns(
  queue: () => Promise<Queue>,
  outcomes: Counter,
): Pick<Jobs, 'run'> & { settled(withinMs: number): Promise<void> } {
  const running = new Set<Promise<Outcome>>()
  return {
    run: (task, id, attempt) => {
      const run = withinTime(task, attempt).then(
        async (outcome) => {
          outcomes.add(1, { task: task.name, outcome })
          const { boss } = await queue()
          await boss.complete(task.name, id, null, { includeQueued: true })
          return outcome
        },
        (error) => {
          outcomes.add(1, { task: task.name, outcome: 'retry' })
          throw error
        },
      )
      const forget = () => running.delete(run)
      running.add(run)
      run.then(forget, forget)
      return run
    },
    settled: async (withinMs) => {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, withinMs)
      await Promise.race([Promise.allSettled(running), late.promise])
      clearTimeout(timer)
    },
  }
}

/** The queue's own limit fails a whole batch, and so would do again what was done beside a job that hangs. */
async function withinTime({ timeoutSeconds }: AnyTask, attempt: () => Promise<Outcome>): Promise<Outcome> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`the attempt took longer than ${timeoutSeconds} s`)),
    timeoutSeconds * 1_000,
  )
  try {
    return await Promise.race([attempt(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function runAttempt<Payload extends object>(config: JobsConfig, task: Task<Payload>, handler: Handler<Payload>) {
  return async (job: JobWithMetadata<object>): Promise<Outcome> => {
    // What lies in the queue was put there by `send` of the same task.
    const payload = task.sealed ? await openPayload(config.sealKeys, job.data as SealedPayload) : job.data
    return handler(payload as Payload, { id: job.id, attempt: job.retryCount + 1 })
  }
}
