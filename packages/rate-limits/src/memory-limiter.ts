import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** How many uses a key has in how many seconds, and how many keys are kept apart. */
export interface MemoryLimiterOptions {
  readonly name: string
  /** Uses that a key has in a window. */
  readonly points: number
  readonly durationSeconds: number
  /** Most keys that are counted exactly. */
  readonly keysMax: number
}

/** Counts uses by key, in this process alone. */
export interface MemoryLimiter {
  /** Counts one use. @returns the milliseconds to wait when that was one too many, else undefined */
  readonly consume: (key: string) => Promise<number | undefined>
  /** The milliseconds to wait when no use is left, else undefined. Counts nothing. */
  readonly waitMs: (key: string) => Promise<number | undefined>
  /** Whether the key has a use in its window that is counted exactly, and that `reward` would take back. */
  readonly hasUses: (key: string) => Promise<boolean>
  /** Takes one use back, where the key has one in its window. */
  readonly reward: (key: string) => Promise<void>
}

/**
 * Returns a limiter that counts uses in this process. Beyond `keysMax` keys, those whose window began first are counted
 * roughly. So a client that tries one name after the other does not fill the memory, and a flood of other keys gives no key its
 * uses back.
 */
export function memoryLimiter({ name, points, durationSeconds, keysMax }: MemoryLimiterOptions): MemoryLimiter {
  const periodMs = durationSeconds * 1_000
  const limiter = new RateLimiterMemory({ keyPrefix: name, points, duration: durationSeconds })
  /** Keys that are counted exactly, in the order in which their windows began, with the uses that they had then. */
  const exact = new Map<string, number>()
  let rough: CountSketch | undefined
  const forgetOldest = async () => {
    const [[oldest, before] = []] = exact
    if (oldest === undefined || before === undefined) return
    exact.delete(oldest)
    const state = await limiter.get(oldest)
    await limiter.delete(oldest)
    if (!state) return
    rough ??= new CountSketch(periodMs, performance.now())
    rough.add(oldest, state.consumedPoints - before, performance.now())
  }
  const hasUses = async (key: string) => ((await limiter.get(key))?.consumedPoints ?? 0) > 0
  const usesBefore = (key: string) => rough?.read(key, performance.now()) ?? 0
  return {
    consume: async (key: string): Promise<number | undefined> => {
      const used = await consume(limiter, key)
      if (used.consumedPoints !== 1) return used.consumedPoints > points ? used.msBeforeNext : undefined
      // A new window. The key's earlier uses may have been moved to the rough counts, and must still count.
      const before = Math.min(points, usesBefore(key))
      exact.delete(key)
      exact.set(key, before)
      if (exact.size > keysMax) await forgetOldest()
      if (before > 0) await limiter.penalty(key, before)
      return before >= points ? used.msBeforeNext : undefined
    },
    waitMs: async (key: string): Promise<number | undefined> => {
      const state = await limiter.get(key)
      if (state) return state.remainingPoints <= 0 ? state.msBeforeNext : undefined
      return usesBefore(key) >= points ? periodMs : undefined
    },
    hasUses,
    reward: async (key: string): Promise<void> => {
      if (await hasUses(key)) await limiter.reward(key)
    },
  }
}

/** Counts one use, even if it is one too many. */
async function consume(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key)
  } catch (refused) {
    // The library throws its result when the points are used up.
    if (refused instanceof RateLimiterRes) return refused
    throw refused
  }
}

const ROWS = 4
/** Cells of a row. After four million uses in a period, a key that was never counted reads about 10. */
const CELLS = 2 ** 18
const USES_MAX = 2 ** 16 - 1

/**
 * Counts the uses of any number of keys roughly, in 4 MiB: never too few, and rarely too many. It is a
 * count-min sketch (Cormode and Muthukrishnan, 2005): each key has one cell in each row, and the lowest of
 * its cells is read. A secret decides which cells a key has, so that nobody can choose keys that count for
 * another one. Uses are kept for one to two periods.
 */
export class CountSketch {
  readonly #secret = randomBytes(32)
  readonly #periodMs: number
  #begunMs: number
  #counts = new Uint16Array(ROWS * CELLS)
  #before = new Uint16Array(ROWS * CELLS)

  constructor(periodMs: number, nowMs: number) {
    this.#periodMs = periodMs
    this.#begunMs = nowMs
  }

  add(key: string, uses: number, nowMs: number): void {
    this.#turn(nowMs)
    for (const cell of this.#cellsOf(key)) {
      this.#counts[cell] = Math.min(USES_MAX, (this.#counts[cell] ?? 0) + uses)
    }
  }

  read(key: string, nowMs: number): number {
    this.#turn(nowMs)
    const cells = this.#cellsOf(key)
    const leastCount = (counts: Uint16Array) => Math.min(...cells.map((cell) => counts[cell] ?? 0))
    return leastCount(this.#counts) + leastCount(this.#before)
  }

  /** Begins a new period when the last one is over. */
  #turn(nowMs: number): void {
    const periods = Math.floor((nowMs - this.#begunMs) / this.#periodMs)
    if (periods === 0) return
    this.#begunMs += periods * this.#periodMs
    const [emptied, kept] = [this.#before, this.#counts]
    this.#before = kept
    this.#counts = emptied.fill(0)
    if (periods > 1) this.#before.fill(0)
  }

  #cellsOf(key: string): number[] {
    const digest = createHmac('sha256', this.#secret).update(key).digest()
    return Array.from({ length: ROWS }, (_, row) => row * CELLS + (digest.readUInt32LE(row * 4) % CELLS))
  }
}
