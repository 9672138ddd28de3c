export interface HashQueueOptions<Task, Outcome> {
  /** Does tasks one after the other on one thread. @returns what became of each, in their order, when all are done */
  readonly runBatch: (tasks: readonly Task[]) => Promise<readonly Outcome[]>
  /** Whether a task takes longer than most: nobody shares its batch. */
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

/**
 * A bounded queue before the hash threads: a flood of logins neither exhausts memory nor makes everybody wait for ever.
 * Its length follows from the measured time of a hash. While no more wait than there are threads, each goes by itself.
 */
export function createHashQueue<Task, Outcome>(options: HashQueueOptions<Task, Outcome>): HashQueue<Task, Outcome> {
  const { runBatch, isLong, concurrency, waitMsMax, clock } = options
  const waiting: Waiting<Task, Outcome>[] = []
  let running = 0
  /** Those that wait and those on a thread. */
  let unfinished = 0
  let averageMs = FIRST_GUESS_MS
  let isScheduled = false

  /** Rejects, too, with what `runBatch` throws at once. */
  const attempt = async (batch: readonly Waiting<Task, Outcome>[]) => await runBatch(batch.map(({ task }) => task))
  const runNext = async (): Promise<void> => {
    const batch = takeBatch(waiting, Math.min(BATCH_MAX, Math.ceil(waiting.length / concurrency)), isLong)
    running += 1
    const startedMs = clock()
    const [result] = await Promise.allSettled([attempt(batch)])
    averageMs += WEIGHT * ((clock() - startedMs) / batch.length - averageMs)
    running -= 1
    unfinished -= batch.length
    // First: while those who asked go on, the thread would stand idle.
    start()
    tell(batch, result)
  }
  const start = (): void => {
    while (running < concurrency && waiting.length > 0) void runNext()
  }
  /** What arrives in one turn of the event loop is shared out together. */
  const schedule = (): void => {
    if (isScheduled || running === concurrency) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }

  return {
    run: async (task) => {
      const waitMs = ((unfinished + 1 - concurrency) * averageMs) / concurrency
      if (waitMs > waitMsMax) {
        return { verdict: 'busy', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
      }
      const outcome = Promise.withResolvers<Outcome>()
      waiting.push({ task, outcome })
      unfinished += 1
      schedule()
      return { verdict: 'done', outcome: await outcome.promise }
    },
  }
}

/** Takes the first that wait, in their order: a long one by itself, others up to the next long one. */
function takeBatch<Task, Outcome>(
  waiting: Waiting<Task, Outcome>[],
  sizeMax: number,
  isLong: (task: Task) => boolean,
): readonly Waiting<Task, Outcome>[] {
  const long = waiting.findIndex(({ task }) => isLong(task))
  return waiting.splice(0, long === -1 ? sizeMax : Math.min(sizeMax, Math.max(long, 1)))
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
