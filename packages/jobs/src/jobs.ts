import { setTimeout as pause } from 'node:timers/promises'
import type { Counter, Meter } from '@opentelemetry/api'
import type { GroupOptions, JobInsert, JobWithMetadata, PgBoss, WipData } from 'pg-boss'
import {
  type AttemptConfig,
  type AttemptResult,
  encryptPayload,
  type Handler,
  jobRunner,
  OUTCOMES,
  type Outcome,
  withinTime,
} from './attempt.ts'
import { type NewShare, reprioritize } from './fair-share.ts'
import type { OutboxEntry } from './outbox.ts'
import { type JobTransaction, openQueue, postpone, type Queue, type QueueConfig, retryDeadLetterJobs } from './queue.ts'
import type { AnyTask, Groups, Task } from './task.ts'

/** How background work reaches its queue, encrypts its payloads and reports metrics. */
export interface JobsConfig extends QueueConfig, AttemptConfig {
  readonly meter: Meter
  /** The clock used to detect stopped workers. */
  readonly now: () => Date
  /** The time without a fetch of jobs after which a worker counts as stopped, in milliseconds. The default is SILENT_MS. */
  readonly silentMs?: number
}

/** When a job is due, and its place in a fair share. By default a job is due immediately. */
interface SendOptions {
  readonly startAfterSeconds?: number
  /** The group of the job, such as its merchant (`TaskOptions.groups`). By default a job has no group. */
  readonly group?: string
  /**
   * The share of the job in whole seconds. While workers are busy, the job and later jobs of its group wait longer by this time.
   * Jobs of one group with different shares do not wait for each other. By default a minute.
   */
  readonly shareSeconds?: number
}

/** The background work of a service. A process without workers can still send jobs. */
export interface Jobs {
  /** Connects to the queue after `after` has resolved. Other methods wait until then. They reject if `open` was not called. */
  open(after?: Promise<void>): Promise<void>
  /** Adds a job in the caller's database transaction. It runs only after the commit. @returns the id of the job */
  send<Payload extends object>(
    trx: JobTransaction,
    task: Task<Payload>,
    payload: Payload,
    options?: SendOptions,
  ): Promise<string>
  /**
   * Runs a job in this process immediately. The job must have a `startAfterSeconds` beyond the task's `timeoutSeconds`, so that
   * no worker takes it. If the attempt throws, the queue runs the job again when it is due.
   */
  run(task: AnyTask, id: string, attempt: () => Promise<Outcome>): Promise<Outcome>
  /** Prepares a job that an SQL function writes into the table `outbox`. */
  prepare<Payload extends object>(task: Task<Payload>, payload: Payload): Promise<OutboxEntry>
  insert(trx: JobTransaction, task: string, entries: readonly Omit<OutboxEntry, 'task'>[]): Promise<void>
  /** Takes jobs of a task after their commit: at most eight concurrently, or as many as its `groups` allow. */
  work<Payload extends object>(task: Task<Payload>, handler: Handler<Payload>): Promise<void>
  /** Looks for jobs of a task with groups immediately. Call it after the commit that added the jobs. */
  wake(task: string): void
  /**
   * Changes the shares of the next jobs of a group, when their duration is known. It skips jobs that another call is changing.
   */
  reprioritize(share: NewShare): Promise<void>
  /** Adds a job of a task at each time of a cron expression (UTC), once for all processes together. */
  schedule(task: Task<Record<string, never>>, cron: string): Promise<void>
  /**
   * Puts the dead-letter jobs of a task back into its queue. They get all their attempts again.
   * @param trx the database transaction; by default, the queue uses its own connection
   * @returns the number of jobs
   */
  retryDeadLetterJobs(task: AnyTask, trx?: JobTransaction): Promise<number>
  /** @throws Error unless the queue is open and the worker of each task is busy or fetches jobs */
  check(): Promise<void>
  /** Waits for running jobs, then disconnects. Jobs that take longer than `withinMs` are tried again later. */
  close(withinMs?: number): Promise<void>
}

const POLL_SECONDS = 2
/** Longer than a fetch that gets no answer, so that the next fetch can still count. */
const SILENT_MS = 60_000
// A worker fetches once every POLL_SECONDS, unless it is notified or its last batch was full. With one job per fetch, a backlog
// of mails would be sent at a rate of one every two seconds.
const WORK_OPTIONS = {
  includeMetadata: true,
  perJobResults: true,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: POLL_SECONDS,
  notifyPollingIntervalSeconds: POLL_SECONDS,
  // A batch ends with its slowest job. If a job hangs, the other worker still takes jobs.
  localConcurrency: 2,
  batchSize: 4,
} as const
/** The part of the closing time that is reserved for giving up running jobs, in milliseconds. */
const GIVE_UP_MS = 2_000
const CLOSE_MS = 25_000

/** Creates the background work of a service. `open` connects it to its queue. */
export function createJobs(config: JobsConfig): Jobs {
  const outcomes = config.meter.createCounter('jobs_total', { description: 'Attempts of background jobs by outcome' })
  let opening: Promise<Queue> | undefined
  const queue = () => opening ?? Promise.reject(new Error('the job queue is not open'))
  const own = createOwnRuns(queue, outcomes)
  const { silentMs = SILENT_MS } = config
  let running = false
  const groupWorkers: AnyGroupWorker[] = []
  const toData = async <Payload extends object>(task: Task<Payload>, payload: Payload): Promise<object> =>
    task.encrypted ? encryptPayload(config.payloadKeys, payload) : payload
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
        ...(options.group === undefined ? {} : { group: toGroup(options.group, options.shareSeconds) }),
      })
      if (id === null) throw new Error(`the queue has refused a job of task ${task.name}`)
      return id
    },
    run: own.run,
    prepare: async (task, payload) => ({ task: task.name, data: await toData(task, payload) }),
    insert: async (trx, task, entries) => {
      const { boss, fromKysely } = await queue()
      await boss.insert(task, entries.map(toInsert), { db: fromKysely(trx) })
    },
    work: async (task, handler) => {
      // Start at 0, so that the first increment is visible.
      for (const outcome of OUTCOMES) outcomes.add(0, { task: task.name, outcome })
      const { boss } = await queue()
      const runJob = jobRunner(config, { boss, outcomes, task, handler })
      groupWorkers.push(...(await startWorker(config, boss, { task, runJob })))
    },
    wake: (name) => groupWorkers.find(({ task }) => task.name === name)?.wake(),
    reprioritize: async (share) => reprioritize((await queue()).boss, config.schema, share),
    schedule: async (task, cron) => (await queue()).boss.schedule(task.name, cron, {}, { tz: 'UTC' }),
    retryDeadLetterJobs: async (task, trx) => retryDeadLetterJobs(await queue(), task, trx),
    check: async () => {
      if (!running) throw new Error('the job worker does not run')
      const beforeMs = config.now().getTime() - silentMs
      const silent = [...wipOf((await queue()).boss), ...groupWorkers].find(({ lastSeenMs }) => lastSeenMs < beforeMs)
      if (silent !== undefined) throw new Error(`no worker has fetched jobs of ${silent.task.name} lately`)
    },
    close: async (withinMs = CLOSE_MS) => {
      if (opening === undefined) return
      running = false
      const giveUpAtMs = performance.now() + withinMs - GIVE_UP_MS
      const stops = groupWorkers.map((worker) => worker.stop(withinMs - GIVE_UP_MS))
      await Promise.all([own.finished(withinMs - GIVE_UP_MS), ...stops])
      const { boss } = await opening
      await boss.stop({ graceful: true, timeout: Math.max(0, Math.round(giveUpAtMs - performance.now())) })
    },
  }
}

function toInsert({ id, data, group, shareSeconds }: Omit<OutboxEntry, 'task'>): JobInsert<object> {
  return {
    data,
    ...(id === undefined ? {} : { id }),
    ...(group === undefined ? {} : { group: toGroup(group, shareSeconds) }),
  }
}

function toGroup(id: string, shareSeconds: number | undefined): GroupOptions {
  return shareSeconds === undefined ? { id } : { id, tier: String(shareSeconds) }
}

/** Starts the workers of pg-boss for a task. If the task has groups with a fair share, starts a `GroupWorker` instead. */
async function startWorker<Data extends object>(
  { schema, now, onError }: JobsConfig,
  boss: PgBoss,
  { task, runJob }: { readonly task: AnyTask; readonly runJob: (job: JobWithMetadata<Data>) => Promise<AttemptResult> },
): Promise<readonly AnyGroupWorker[]> {
  const { groups } = task
  if (groups) return [new GroupWorker({ boss, schema, task, groups, runJob, now, onError })]
  await boss.work(task.name, WORK_OPTIONS, (jobs: JobWithMetadata<Data>[]) => Promise.all(jobs.map(runJob)))
  return []
}

/** The idle workers of pg-boss. A worker that failed to report outcomes counts as idle, though pg-boss lists its jobs. */
function wipOf(boss: PgBoss): Pick<AnyGroupWorker, 'task' | 'lastSeenMs'>[] {
  return boss.getWipData().flatMap((worker) => {
    const isBusy = worker.count > 0 && (worker.lastErrorOn ?? 0) < (worker.lastJobStartedOn ?? 0)
    return isBusy ? [] : [{ task: { name: worker.name }, lastSeenMs: lastSeen(worker) }]
  })
}

function lastSeen({ createdOn, lastFetchedOn, lastJobEndedOn }: WipData): number {
  return Math.max(createdOn, lastFetchedOn ?? 0, lastJobEndedOn ?? 0)
}

/** Runs jobs in this process without a worker. */
function createOwnRuns(
  queue: () => Promise<Queue>,
  outcomes: Counter,
): Pick<Jobs, 'run'> & { finished(withinMs: number): Promise<void> } {
  const running = new Set<Promise<Outcome>>()
  return {
    run: (task, id, attempt) => {
      const run = withinTime(task, attempt).then(
        async (outcome) => {
          outcomes.add(1, { task: task.name, outcome })
          await (await queue()).boss.complete(task.name, id, { outcome }, { includeQueued: true })
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
    finished: async (withinMs) => {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, withinMs)
      await Promise.race([Promise.allSettled(running), late.promise])
      clearTimeout(timer)
    },
  }
}

interface GroupWorkerOptions<Data extends object> {
  readonly boss: PgBoss
  readonly schema: string
  readonly task: AnyTask
  readonly groups: Groups
  readonly runJob: (job: JobWithMetadata<Data>) => Promise<AttemptResult>
  readonly now: () => Date
  readonly onError: (error: Error) => void
}

/** The interval at which the worker looks for due jobs and for jobs that other processes have added. */
const POLL_MS = 500
/** The maximum number of jobs of a task in a process that began within the last `STARTING_MS`. */
const STARTING_MAX = 32
/** After this time a job is assumed to wait for another server. It then no longer takes a slot from jobs that begin. */
const STARTING_MS = 500
/** The interval at which running jobs are reported as alive. The queue gives up a job after ten seconds without such a report. */
const TOUCH_MS = 5_000

/** A worker of a task with groups, for any payload. */
type AnyGroupWorker = Pick<GroupWorker<object>, 'lastSeenMs' | 'wake' | 'stop'> & {
  readonly task: { readonly name: string }
}

/**
 * Runs the jobs of a task whose groups have a fair share, one by one. A worker of pg-boss runs only a few jobs, and each worker
 * polls the queue, so hundreds of them would be too many. A job that waits for another server costs little. So here many slow
 * jobs run concurrently, and only jobs that have just begun delay others.
 */
class GroupWorker<Data extends object> {
  readonly task: AnyTask
  readonly #options: GroupWorkerOptions<Data>
  /** The running attempts. An attempt that the queue has given up may still run when the next attempt of the same job begins. */
  readonly #running = new Map<JobWithMetadata<Data>, Promise<void>>()
  readonly #looking: Promise<void>
  readonly #touching: NodeJS.Timeout
  #starting = 0
  #lastSeenMs: number
  #isStopped = false
  #bell = Promise.withResolvers<void>()

  constructor(options: GroupWorkerOptions<Data>) {
    this.#options = options
    this.task = options.task
    this.#lastSeenMs = options.now().getTime()
    this.#touching = setInterval(() => this.#touch(), TOUCH_MS)
    this.#looking = this.#look()
  }

  /** The time of the last successful look for jobs, in milliseconds since 1970. */
  get lastSeenMs(): number {
    return this.#lastSeenMs
  }

  /** Looks for jobs immediately. */
  wake(): void {
    this.#bell.resolve()
  }

  /** Stops taking jobs and waits for running jobs. Jobs that still run after `withinMs` are given up, and tried again later. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true
    this.wake()
    const ended = this.#looking.then(() => Promise.all(this.#running.values()))
    await Promise.race([ended, pause(withinMs, undefined, { ref: false })])
    clearInterval(this.#touching)
    const late = this.#attempts()
    if (late.length > 0) {
      await this.#reporting(this.#options.boss.fail(this.task.name, late, new Error('the process ends')))
    }
  }

  async #look(): Promise<void> {
    while (!this.#isStopped) {
      this.#bell = Promise.withResolvers()
      const hasMore = await this.#reporting(this.#take())
      if (!hasMore) await Promise.race([this.#bell.promise, pause(POLL_MS, undefined, { ref: false })])
    }
  }

  /**
   * Starts the next job. It fetches one job at a time. If pg-boss fetched several jobs and a group had too many of them, it would
   * leave out jobs of that group without regard to their order.
   * @returns whether a job was started, so that another job and a slot may be available
   */
  async #take(): Promise<boolean> {
    const { boss, groups, now } = this.#options
    const hasSlot = this.#starting < STARTING_MAX && this.#running.size < groups.jobsMax
    const askedMs = now().getTime()
    const jobs = hasSlot
      ? await boss.fetch<Data>(this.task.name, { includeMetadata: true, groupConcurrency: groups.groupJobsMax })
      : []
    this.#lastSeenMs = askedMs
    for (const job of jobs) this.#running.set(job, this.#run(job))
    return jobs.length > 0
  }

  async #run(job: JobWithMetadata<Data>): Promise<void> {
    this.#starting += 1
    const started = Promise.withResolvers<void>()
    const timer = setTimeout(started.resolve, STARTING_MS)
    const counted = started.promise.then(() => {
      this.#starting -= 1
      this.wake()
    })
    await this.#reporting(this.#options.runJob(job).then((result) => this.#settle(job, result)))
    clearTimeout(timer)
    started.resolve()
    await counted
    this.#running.delete(job)
    this.wake()
  }

  async #settle(job: JobWithMetadata<Data>, { status, output, laterSeconds }: AttemptResult): Promise<void> {
    const { boss, schema } = this.#options
    if (status === 'completed') await boss.complete(this.task.name, attemptOf(job), output)
    else await boss.fail(this.task.name, attemptOf(job), output)
    if (laterSeconds !== undefined) await postpone(boss, schema, job, laterSeconds)
  }

  #touch(): void {
    const attempts = this.#attempts()
    if (attempts.length > 0) void this.#reporting(this.#options.boss.touch(this.task.name, attempts))
  }

  #attempts() {
    return [...this.#running.keys()].map(attemptOf)
  }

  async #reporting<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      this.#options.onError(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }
}

/** Identifies the fetched attempt of a job. The queue ignores a report about an attempt if a later attempt has begun. */
function attemptOf({ id, retryCount }: JobWithMetadata<object>) {
  return { id, retryCount }
}
