import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Database } from '@trestle/database/connect.ts'
import type { Redis } from 'ioredis'
import { CompiledQuery, sql } from 'kysely'
import { type RateLimiterAbstract, RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

export interface Window {
  /** Uses that a key has in a window. */
  readonly points: number
  readonly durationSeconds: number
  /** Whether uses may be taken back. If not, a refusal is remembered in this process until the window ends, without the store. */
  readonly returnable?: boolean
}

/** Counts the uses of keys in fixed windows. */
export interface Limiter {
  /** Counts one use. @returns the milliseconds to wait when that was one too many, else undefined */
  consume(key: string): Promise<number | undefined>
  /** The milliseconds to wait when no use is left, else undefined. Counts nothing. */
  waitMs(key: string): Promise<number | undefined>
  /**
   * Takes one use back, where the key has one in its window, which must be returnable.
   * @param takenMs when the use was counted, by `performance.now()`: a window that began later keeps its uses
   */
  reward(key: string, takenMs?: number): Promise<void>
}

/** Makes the limiter of a name. In PostgreSQL and Redis, limiters of one name share their counts. */
export type LimiterStore = (name: string, window: Window) => Limiter

/** A store of counts, with the connection that it must close at the end. */
export interface OpenLimiterStore {
  readonly store: LimiterStore
  /** @throws Error when Redis does not answer. The other stores need only the database of the service. */
  check(): Promise<void>
  close(): void
}

/** The place where counts are kept: in the memory of each process, in PostgreSQL or in Redis. */
export interface LimiterStoreSettings {
  readonly store: 'memory' | 'postgres' | 'redis'
  readonly redisUrl: string | undefined
}

const REDIS_TIMEOUT_MS = 500
const CONNECT_MS = 5_000
/** Windows end by the clock of a process. */
const CLOCKS_DIFFER_MS = 500

/**
 * Opens the store that the settings name. Each use that PostgreSQL or Redis does not count, the process counts in its own memory:
 * a broken limit must not fail the requests that it guards. A store may answer reads and refuse writes, so a key waits as long as
 * the stricter of both counts says.
 * @param database `postgres` counts in its table `rate_limits`. Its names keep services and namespaces apart
 * @param onError called for each failed command of the store, and for each lost connection
 */
export async function openLimiterStore<Tables>(
  { store, redisUrl }: LimiterStoreSettings,
  database: Pick<Database<Tables>, 'db' | 'names'>,
  onError: (error: Error) => void,
): Promise<OpenLimiterStore> {
  if (store === 'postgres') {
    return { store: postgresStore(database, onError), check: async () => {}, close: () => {} }
  }
  if (store === 'redis' && redisUrl !== undefined) {
    const ioredis = await import('ioredis')
    // No queue, no retries and a short timeout: a command fails soon, and the memory of the process counts instead.
    const client = new ioredis.Redis(redisUrl, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: REDIS_TIMEOUT_MS,
    })
    client.on('error', onError)
    const prefix = `${database.names.prefix}${database.names.schema}:`
    return {
      store: (name, window) => {
        const limiter = new RateLimiterRedis({ ...limiterOptions(prefix + name, window), storeClient: client })
        const takeBack = async (key: string, agoMs: number) => {
          await client.eval(TAKE_BACK, 1, limiter.getKey(key), window.durationSeconds * 1_000, Math.floor(agoMs))
        }
        return sharedLimiter({ store: limiter, takeBack, window, onError })
      },
      check: () => ping(client),
      close: () => client.disconnect(),
    }
  }
  return { store: memoryStore(), check: async () => {}, close: () => {} }
}

/** Waits for the connection, which the client opens in the background: a command before that would fail. */
async function ping(client: Redis): Promise<void> {
  if (client.status !== 'ready') await once(client, 'ready', { signal: AbortSignal.timeout(CONNECT_MS) })
  await client.ping()
}

/** Takes a use back in one step, where the key has one, and its window began `ARGV[2]` milliseconds ago or earlier. */
const TAKE_BACK = `local uses = tonumber(redis.call('get', KEYS[1]) or '0')
if uses > 0 and ARGV[1] - redis.call('pttl', KEYS[1]) >= tonumber(ARGV[2]) then redis.call('decr', KEYS[1]) end`

/** About 15 MiB for each limiter: a key takes half a kilobyte, and the rough counts of others 4 MiB. */
const KEYS_MAX = 20_000

/** Counts in this process. @param keysMax most keys of a limiter that are counted exactly */
export function memoryStore(keysMax = KEYS_MAX): LimiterStore {
  return (_name, window) => {
    const limiter = memoryLimiter({ ...window, keysMax })
    return { ...limiter, reward: async (key, takenMs) => void (await limiter.reward(key, takenMs)) }
  }
}

function postgresStore<Tables>(
  { db, names }: Pick<Database<Tables>, 'db' | 'names'>,
  onError: (error: Error) => void,
): LimiterStore {
  const client = {
    query: async ({ text, values }: { readonly text: string; readonly values: unknown[] }) => {
      const { rows } = await db.executeQuery<{ readonly points: number; readonly expire: bigint }>(
        CompiledQuery.raw(text, values),
      )
      // The library computes with numbers; bigint columns arrive as bigint.
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length }
    },
  }
  let isFirst = true
  return (name, window) => {
    // All limiters share a table. The first removes the expired rows of all.
    const clearExpiredByTimeout = isFirst
    isFirst = false
    const limiter = new RateLimiterPostgres({
      ...limiterOptions(name, window),
      clearExpiredByTimeout,
      storeClient: client,
      storeType: 'client',
      schemaName: names.schema,
      tableName: `${names.prefix}rate_limits`,
      tableCreated: true,
    })
    const takeBack = async (key: string, agoMs: number) => {
      const restMs = window.durationSeconds * 1_000 - agoMs + CLOCKS_DIFFER_MS
      await sql`
        UPDATE ${names.id('rate_limits')} SET points = points - 1
        WHERE key = ${limiter.getKey(key)} AND points > 0
          AND expire <= extract(epoch FROM clock_timestamp()) * 1000 + ${restMs}::float8`.execute(db)
    }
    return sharedLimiter({ store: limiter, takeBack, window, onError })
  }
}

function limiterOptions(name: string, { points, durationSeconds }: Window) {
  return { keyPrefix: name, points, duration: durationSeconds }
}

interface SharedLimiterOptions {
  readonly store: RateLimiterAbstract
  /** Takes a use back in one step, where the key has one in a window that began `agoMs` ago or earlier. */
  readonly takeBack: (key: string, agoMs: number) => Promise<void>
  readonly window: Window
  readonly onError: (error: Error) => void
}

/** Counts in the shared store, and in the memory of the process each use that the store does not count. */
function sharedLimiter({ store, takeBack, window, onError }: SharedLimiterOptions): Limiter {
  const memory = memoryLimiter({ ...window, keysMax: KEYS_MAX })
  const refusals = rememberRefusals(window)
  const endsMaxMs = window.durationSeconds * 1_000 + CLOCKS_DIFFER_MS
  const reportFailure = (error: unknown) => {
    onError(error instanceof Error ? error : new Error(String(error)))
    return undefined
  }
  let isReadable = true
  const find = async (key: string) => {
    try {
      const count = await store.get(key)
      if (count && !isCount(count, endsMaxMs)) throw new Error(NONSENSE)
      isReadable = true
      return count
    } catch (error) {
      isReadable = false
      return reportFailure(error)
    }
  }
  return {
    consume: async (key) => {
      const restMs = refusals.restMs(key)
      if (restMs > 0) return restMs
      if ((await memory.waitMs(key)) !== undefined) return memory.consume(key)
      const waitMs = await countUse(store, key, endsMaxMs).catch(reportFailure)
      if (waitMs === undefined) return memory.consume(key)
      if (waitMs > 0) refusals.add(key, waitMs)
      // `waitMs` has only the memory to ask.
      if (!isReadable) await memory.consume(key)
      return waitMs || undefined
    },
    waitMs: async (key) => {
      const count = await find(key)
      const storeMs = count && count.remainingPoints <= 0 ? count.msBeforeNext : 0
      return Math.max(storeMs, (await memory.waitMs(key)) ?? 0) || undefined
    },
    reward: async (key, takenMs) => {
      // The memory has the use, where the store did not count it.
      if (await memory.reward(key, takenMs)) return
      // A use of a window that is over must not become one more use in this window.
      await takeBack(key, takenMs === undefined ? 0 : performance.now() - takenMs).catch(reportFailure)
    },
  }
}

/** Remembers until when keys are refused, so that the store is not asked again. A returnable window may end earlier. */
function rememberRefusals({ returnable }: Window) {
  const endsMs = new Map<string, number>()
  return {
    restMs: (key: string) => (endsMs.get(key) ?? 0) - performance.now(),
    add: (key: string, waitMs: number) => {
      if (returnable) return
      endsMs.delete(key)
      endsMs.set(key, performance.now() + waitMs)
      const [oldest] = endsMs.keys()
      if (endsMs.size > KEYS_MAX && oldest !== undefined) endsMs.delete(oldest)
    },
  }
}

/**
 * Counts one use in the store.
 * @returns the milliseconds to wait when that was one too many, else 0
 * @throws Error when the store fails
 */
async function countUse(store: RateLimiterAbstract, key: string, endsMaxMs: number): Promise<number> {
  try {
    const count = await store.consume(key)
    if (!(isCount(count, endsMaxMs) && count.consumedPoints > 0)) throw new Error(NONSENSE)
    return 0
  } catch (refused) {
    // The library throws its result when the points are used up, an Error when its store fails.
    if (!(refused instanceof RateLimiterRes)) throw refused
    if (!isCount(refused, endsMaxMs)) throw new Error(NONSENSE)
    return refused.msBeforeNext
  }
}

const NONSENSE = 'The store of the rate limits answered with no count'

/** Whether a store has answered with a count and a time that a window may have left. The library passes on whatever it says. */
function isCount({ consumedPoints, msBeforeNext }: RateLimiterRes, endsMaxMs: number): boolean {
  const isWhole = [consumedPoints, msBeforeNext].every((number) => Number.isSafeInteger(number) && number >= 0)
  return isWhole && msBeforeNext <= endsMaxMs
}

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
function memoryLimiter({ points, durationSeconds, keysMax }: MemoryLimiterOptions): MemoryLimiter {
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
