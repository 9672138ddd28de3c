export interface HashQueueOptions<Task, Outcome> {
  /** Does tasks one after the other on one thread. @returns what became of each, in their order, when all are done */
  readonly runBatch: (tasks: readonly Task[]) => Promise<readonly Outcome[]>
  /** Whether a task takes longer than most: it waits in a line of its own, and nobody shares its batch. */
  readonly isLong: (task: Task) => boolean
  /** How many batches run at once: one a core. */
  readonly concurrency: number
  /** How much work may wait, in milliseconds that a newcomer would have to wait. */
  readonly waitMsMax: number
  /** A clock that only goes forward, in milliseconds. */
  readonly clock: () => number
}

/** Runs work a few at a time; what does not fit into the queue is refused at once. */
export interface HashQueue<Task, Outcome> {
  /** Resolves with what became of the task, or with `busy` and how long the queue is when there is no room. */
  run(task: Task): Promise<HashQueueAnswer<Outcome>>
}

export type HashQueueAnswer<Outcome> =
  | { readonly verdict: 'done'; readonly outcome: Outcome }
  | { readonly verdict: 'busy'; readonly retryAfterSeconds: number }

interface Waiting<Task, Outcome> {
  readonly task: Task
  readonly outcome: PromiseWithResolvers<Outcome>
}

/**
 * How many a thread takes at most. A hash empties the caches: what comes between two of them runs several times as slow, and
 * what follows several at once is paid once. The first waits for the others, some 10 ms each; alone, all would wait longer.
 */
const BATCH_MAX = 8
/** What a hash takes until the first ones have been measured. */
const FIRST_GUESS_MS = 50
/** The share of the newest measurement in the running average. */
const WEIGHT = 0.1

/** Batches of usual tasks that go before a long one that waits. */
const TURNS = 8

/** Tasks that take about as long as each other. */
interface Line<Task, Outcome> {
  readonly waiting: Waiting<Task, Outcome>[]
  /** Threads that it may have at once. */
  readonly threadsMax: number
  readonly batchMax: number
  running: number
  /** Those that wait and those on a thread. */
  unfinished: number
  averageMs: number
}

/**
 * A bounded queue before the hash threads: a flood of logins neither exhausts memory nor makes everybody wait for ever.
 * Its length follows from the measured time of a hash. While no more wait than there are threads, each goes by itself. Long
 * tasks have half of the threads at most, and a length of their own: a single imported hash may cost a hundred times what
 * ours does, and whoever tries passwords with it must not keep everybody else out.
 */
export function createHashQueue<Task, Outcome>(options: HashQueueOptions<Task, Outcome>): HashQueue<Task, Outcome> {
  const { runBatch, isLong, concurrency, waitMsMax, clock } = options
  const usual = createLine<Task, Outcome>(concurrency, BATCH_MAX)
  const long = createLine<Task, Outcome>(Math.max(1, Math.floor(concurrency / 2)), 1)
  let turns = 0
  let isScheduled = false

  /** Rejects, too, with what `runBatch` throws at once. */
  const attempt = async (batch: readonly Waiting<Task, Outcome>[]) => await runBatch(batch.map(({ task }) => task))
  const runNext = async (line: Line<Task, Outcome>): Promise<void> => {
    const size = Math.min(line.batchMax, Math.ceil(line.waiting.length / line.threadsMax))
    const batch = line.waiting.splice(0, size)
    line.running += 1
    const startedMs = clock()
    const [result] = await Promise.allSettled([attempt(batch)])
    line.averageMs += WEIGHT * ((clock() - startedMs) / batch.length - line.averageMs)
    line.running -= 1
    line.unfinished -= batch.length
    // First: while those who asked go on, the thread would stand idle.
    start()
    tell(batch, result)
  }
  const next = (): Line<Task, Outcome> | undefined => {
    if (usual.running + long.running === concurrency) return undefined
    const mayBeLong = long.waiting.length > 0 && long.running < long.threadsMax
    if (mayBeLong && (usual.waiting.length === 0 || turns >= TURNS)) return long
    return usual.waiting.length > 0 ? usual : undefined
  }
  const start = (): void => {
    for (let line = next(); line !== undefined; line = next()) {
      turns = line === long ? 0 : turns + 1
      void runNext(line)
    }
  }
  /** What arrives in one turn of the event loop is shared out together. */
  const schedule = (): void => {
    if (isScheduled || next() === undefined) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }

  return {
    run: async (task) => {
      const line = isLong(task) ? long : usual
      const waitMs = ((line.unfinished + 1 - line.threadsMax) * line.averageMs) / line.threadsMax
      if (waitMs > waitMsMax) {
        return { verdict: 'busy', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
      }
      const outcome = Promise.withResolvers<Outcome>()
      line.waiting.push({ task, outcome })
      line.unfinished += 1
      schedule()
      return { verdict: 'done', outcome: await outcome.promise }
    },
  }
}

function createLine<Task, Outcome>(threadsMax: number, batchMax: number): Line<Task, Outcome> {
  return { waiting: [], threadsMax, batchMax, running: 0, unfinished: 0, averageMs: FIRST_GUESS_MS }
}

/** Tells all of a batch what became of it. */
function tell<Task, Outcome>(
  batch: readonly Waiting<Task, Outcome>[],
  result: PromiseSettledResult<readonly Outcome[]>,
): void {
  if (result.status === 'rejected') {
    for (const { outcome } of batch) outcome.reject(result.reason)
    return
  }
  result.value.forEach((outcome, index) => {
    batch[index]?.outcome.resolve(outcome)
  })
  for (const { outcome } of batch.slice(result.value.length)) outcome.reject(new Error('a task was left out'))
}
