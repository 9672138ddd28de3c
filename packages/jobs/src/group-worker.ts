import { setTimeout as pause } from 'node:timers/promises'
import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { AttemptResult } from './attempt.ts'
import { postpone } from './queue.ts'
import type { AnyTask, Groups } from './task.ts'

interface GroupWorkerOptions<Data extends object> {
  readonly boss: PgBoss
  /** The schema of the queue. */
  readonly schema: string
  readonly task: AnyTask
  readonly groups: Groups
  readonly runJob: (job: JobWithMetadata<Data>) => Promise<AttemptResult>
  readonly now: () => Date
  readonly onError: (error: Error) => void
}

/** How often jobs are looked for that other processes have added, or that are due. */
const POLL_MS = 500
/** The most jobs of a task that have begun within the last `STARTING_MS` in a process. */
const STARTING_MAX = 32
/** From then on a job waits for another server, and has no place from those that begin. */
const STARTING_MS = 500
/** The queue gives up a job of whose process it hears nothing for ten seconds. */
const TOUCH_MS = 5_000

/** A worker for the jobs of a task with groups, whatever their payloads are. */
export type AnyGroupWorker = Pick<GroupWorker<object>, 'lastSeenMs' | 'wake' | 'stop'> & {
  readonly task: { readonly name: string }
}

/**
 * Does the jobs of a task whose groups take turns, each on its own. pg-boss has a worker for each few jobs, and each of
 * them asks for more, so some hundred would be too many. A job that waits for another server costs little. So many slow
 * ones run beside each other here, and only those that have just begun keep others waiting.
 */
export class GroupWorker<Data extends object> {
  readonly task: AnyTask
  readonly #options: GroupWorkerOptions<Data>
  /** The ends of the attempts that run. An attempt that was silent for too long may still run when the next one begins. */
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

  /** When it last looked for jobs without a failure, in milliseconds since 1970. */
  get lastSeenMs(): number {
    return this.#lastSeenMs
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#bell.resolve()
  }

  /** Takes no more jobs, waits for those that run, and gives those up that run longer. They are tried again. */
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
   * Begins the next job. One at a time: of several of one group, pg-boss leaves those out that are too many for the group, and
   * not by their turns.
   * @returns whether there may be another one, and a place for it
   */
  async #take(): Promise<boolean> {
    const { boss, groups, now } = this.#options
    const hasPlace = this.#starting < STARTING_MAX && this.#running.size < groups.jobsMax
    const askedMs = now().getTime()
    const jobs = hasPlace
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

  /** Reports an error in place of throwing it. */
  async #reporting<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      this.#options.onError(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }
}

/** A job at the attempt that was fetched: what is reported of it counts only while no other attempt has begun. */
function attemptOf({ id, retryCount }: JobWithMetadata<object>) {
  return { id, retryCount }
}
