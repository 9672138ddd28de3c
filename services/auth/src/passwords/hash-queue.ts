export interface HashQueueOptions {
  /** How many hashes run at once: one a core. */
  readonly concurrency: number
  /** How much work may wait, in milliseconds that a newcomer would have to wait. */
  readonly waitMsMax: number
  /** A clock that only goes forward, in milliseconds. */
  readonly clock: () => number
}

/** Runs work a few at a time; what does not fit into the queue is refused at once. */
export interface HashQueue {
  /** Resolves with the result of `work`, or with `busy` and how long the queue is when there is no room. */
  run<Result>(work: () => Promise<Result>): Promise<HashQueueAnswer<Result>>
}

export type HashQueueAnswer<Result> =
  | { readonly verdict: 'done'; readonly result: Result }
  | { readonly verdict: 'busy'; readonly retryAfterSeconds: number }

/** What a hash takes until the first ones have been measured. */
const FIRST_GUESS_MS = 50
/** The share of the newest measurement in the running average. */
const WEIGHT = 0.1

/**
 * A bounded queue before the hash threads: a flood of logins neither exhausts memory nor makes everybody wait for ever.
 * Its length follows from the measured time of a hash.
 */
export function createHashQueue({ concurrency, waitMsMax, clock }: HashQueueOptions): HashQueue {
  const waiting: Array<() => void> = []
  let running = 0
  let averageMs = FIRST_GUESS_MS

  const waitMs = () => ((waiting.length + 1) * averageMs) / concurrency
  const enter = (): Promise<void> | undefined => {
    if (running < concurrency) {
      running++
      return undefined
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
  const leave = (startedMs: number): void => {
    averageMs += WEIGHT * (clock() - startedMs - averageMs)
    const next = waiting.shift()
    if (next) next()
    else running--
  }

  return {
    run: async (work) => {
      if (running >= concurrency && waitMs() > waitMsMax) {
        return { verdict: 'busy', retryAfterSeconds: Math.max(1, Math.ceil(waitMs() / 1000)) }
      }
      await enter()
      const startedMs = clock()
      try {
        return { verdict: 'done', result: await work() }
      } finally {
        leave(startedMs)
      }
    },
  }
}
