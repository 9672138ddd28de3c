import { createHmac, randomBytes } from 'node:crypto'

/** How many uses a key has in how many seconds, and how many keys are kept apart. */
export interface MemoryLimiterOptions {
  /** Uses that a key has in a window. */
  readonly points: number
  readonly durationSeconds: number
  /** Most keys that are counted exactly. */
  readonly keysMax: number
}

/** Counts uses by key, in this process alone. Each function acts at once, before the caller awaits it. */
export interface MemoryLimiter {
  /** Counts one use. @returns the milliseconds to wait when that was one too many, else undefined */
  readonly consume: (key: string) => Promise<number | undefined>
  /** The milliseconds to wait when no use is left, else undefined. Counts nothing. */
  readonly waitMs: (key: string) => Promise<number | undefined>
  /**
   * Takes one use back, where the key has one in a window that began before `takenMs` of `performance.now()`.
   * @returns whether it had one
   */
  readonly reward: (key: string, takenMs?: number) => Promise<boolean>
}

/** The window of a key. */
interface KeyWindow {
  uses: number
  /** Uses that the rough counts had when the window began, and still have. */
  readonly before: number
  readonly beganMs: number
}

/**
 * Returns a limiter that counts uses in this process. Beyond `keysMax` keys, those whose window began first are counted
 * roughly. So a client that tries one name after the other does not fill the memory, and a flood of other keys gives no key its
 * uses back.
 */
export function memoryLimiter({ points, durationSeconds, keysMax }: MemoryLimiterOptions): MemoryLimiter {
  const periodMs = durationSeconds * 1_000
  /** Keys that are counted exactly, in the order in which their windows began. */
  const exact = new Map<string, KeyWindow>()
  let rough: CountSketch | undefined
  const find = (key: string, nowMs: number) => {
    const window = exact.get(key)
    return window && nowMs < window.beganMs + periodMs ? window : undefined
  }
  const forgetOldest = (nowMs: number) => {
    for (const [key, { uses, before, beganMs }] of exact) {
      const isOver = nowMs >= beganMs + periodMs
      if (!isOver && exact.size <= keysMax) return
      exact.delete(key)
      if (isOver) continue
      // Refused uses are left out: they must not lengthen the time that their key waits.
      rough ??= new CountSketch(periodMs, nowMs)
      rough.add(key, Math.max(0, Math.min(points, uses) - before), nowMs)
    }
  }
  const begin = (key: string, nowMs: number): KeyWindow => {
    // The key's earlier uses may have been moved to the rough counts, and must still count.
    const before = Math.min(points, rough?.read(key, nowMs) ?? 0)
    const window = { uses: before, before, beganMs: nowMs }
    exact.delete(key)
    exact.set(key, window)
    forgetOldest(nowMs)
    return window
  }
  return {
    consume: async (key): Promise<number | undefined> => {
      const nowMs = readClockMs()
      const window = find(key, nowMs) ?? begin(key, nowMs)
      window.uses += 1
      return window.uses > points ? window.beganMs + periodMs - nowMs : undefined
    },
    waitMs: async (key): Promise<number | undefined> => {
      const nowMs = readClockMs()
      const window = find(key, nowMs)
      if (window) return window.uses >= points ? window.beganMs + periodMs - nowMs : undefined
      return (rough?.read(key, nowMs) ?? 0) >= points ? periodMs : undefined
    },
    reward: async (key, takenMs = Number.POSITIVE_INFINITY): Promise<boolean> => {
      const window = find(key, readClockMs())
      if (!window || window.uses === 0 || takenMs < window.beganMs) return false
      window.uses -= 1
      return true
    },
  }
}

/** Whole milliseconds, so that no wait is longer than its window by a rounding error. */
function readClockMs(): number {
  return Math.floor(performance.now())
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
