import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Database } from '@trestle/database/connect.ts'
import type { Redis } from 'ioredis'
import { CompiledQuery, sql } from 'kysely'
import { type RateLimiterAbstract, RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

export interface Window {
  /** The number of uses of a key in a window. */
  readonly points: number
  readonly durationSeconds: number
  /** Whether uses can be given back. If not, this process remembers refusals until the window ends. */
  readonly returnable?: boolean
}

/** Counts the uses of keys in fixed windows. */
export interface Limiter {
  /** Counts one use. @returns the milliseconds to wait if no use was left, otherwise `undefined` */
  consume(key: string): Promise<number | undefined>
  /** Returns the milliseconds to wait if no use is left, otherwise `undefined`. It does not count a use. */
  waitMs(key: string): Promise<number | undefined>
  /**
   * Gives one use back, if the key has used its window. The window must be returnable.
   * @param takenMs when the use was counted, by `performance.now()`; a window that began later is not changed
   */
  reward(key: string, takenMs?: number): Promise<void>
}

/** Creates a limiter with a name. In PostgreSQL and Redis, limiters with the same name have common counts. */
export type LimiterStore = (name: string, window: Window) => Limiter

/** A store of counts with its connection. Call `close` at the end. */
export interface OpenLimiterStore {
  readonly store: LimiterStore
  /** @throws Error if Redis does not answer; the other stores need only the database of the service */
  check(): Promise<void>
  close(): void
}

/** The place of the counts: the memory of each process, PostgreSQL or Redis. */
export interface LimiterStoreSettings {
  readonly store: 'memory' | 'postgres' | 'redis'
  readonly redisUrl: string | undefined
}

const REDIS_TIMEOUT_MS = 500
const CONNECT_MS = 5_000
/** Each process uses its own clock for windows, and the clocks may differ by this time. */
const CLOCKS_DIFFER_MS = 500

/**
 * Opens the store of the settings. If PostgreSQL or Redis fails to count a use, the process counts the use in its own memory,
 * because a broken limit must not fail the requests. A store may still answer reads when it refuses writes. A key therefore waits
 * as long as the stricter of both counts requires.
 * @param database the database whose table `rate_limits` is used for `postgres`; its names keep services and namespaces apart
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
    // Use no queue, no retries and a short timeout. A command then fails quickly, and the memory of the process counts instead.
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

/** Waits for the connection and pings Redis. The client connects in the background, and a command before that would fail. */
async function ping(client: Redis): Promise<void> {
  if (client.status !== 'ready') await once(client, 'ready', { signal: AbortSignal.timeout(CONNECT_MS) })
  await client.ping()
}

/** Gives a use back atomically, if the key has a use and its window began at least `ARGV[2]` milliseconds ago. */
const TAKE_BACK = `local uses = tonumber(redis.call('get', KEYS[1]) or '0')
if uses > 0 and ARGV[1] - redis.call('pttl', KEYS[1]) >= tonumber(ARGV[2]) then redis.call('decr', KEYS[1]) end`

/** About 15 MiB for each limiter: half a kilobyte for each key, and 4 MiB for approximate counts of all other keys. */
const KEYS_MAX = 20_000

/** Counts in this process. @param keysMax the maximum number of exactly counted keys of a limiter */
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
      // Convert `expire`, because the library calculates with numbers and bigint columns arrive as bigint.
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length }
    },
  }
  let isFirst = true
  return (name, window) => {
    // All limiters use the same table. Only the first limiter removes expired rows, for all of them.
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
  /** Gives a use back atomically, if the key has a use and its window began at least `agoMs` ago. */
  readonly takeBack: (key: string, agoMs: number) => Promise<void>
  readonly window: Window
  readonly onError: (error: Error) => void
}

/** Counts in the common store. Uses that the store fails to count are counted in the memory of the process. */
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
      // Count in memory too, because `waitMs` can read only the memory while the store is not readable.
      if (!isReadable) await memory.consume(key)
      return waitMs || undefined
    },
    waitMs: async (key) => {
      const count = await find(key)
      const storeMs = count && count.remainingPoints <= 0 ? count.msBeforeNext : 0
      return Math.max(storeMs, (await memory.waitMs(key)) ?? 0) || undefined
    },
    reward: async (key, takenMs) => {
      // If the store did not count the use, the memory did.
      if (await memory.reward(key, takenMs)) return
      // The use may belong to a window that is over. It must not be given back to the current window.
      await takeBack(key, takenMs === undefined ? 0 : performance.now() - takenMs).catch(reportFailure)
    },
  }
}

/** Remembers refusals, to spare the store. Refusals of a returnable window may end earlier, so they are not remembered. */
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
 * @returns the milliseconds to wait if no use was left, otherwise 0
 * @throws Error if the store fails
 */
async function countUse(store: RateLimiterAbstract, key: string, endsMaxMs: number): Promise<number> {
  try {
    const count = await store.consume(key)
    if (!(isCount(count, endsMaxMs) && count.consumedPoints > 0)) throw new Error(NONSENSE)
    return 0
  } catch (refused) {
    // The library throws its result if the points are used up, and an Error if its store fails.
    if (!(refused instanceof RateLimiterRes)) throw refused
    if (!isCount(refused, endsMaxMs)) throw new Error(NONSENSE)
    return refused.msBeforeNext
  }
}

const NONSENSE = 'The store of the rate limits answered with no count'

/** Whether a store's answer is a valid count, with a time that a window can have left. The library does not check it. */
function isCount({ consumedPoints, msBeforeNext }: RateLimiterRes, endsMaxMs: number): boolean {
  const isWhole = [consumedPoints, msBeforeNext].every((number) => Number.isSafeInteger(number) && number >= 0)
  return isWhole && msBeforeNext <= endsMaxMs
}

/** The number of uses per key and window, and the number of keys that are counted exactly. */
export interface MemoryLimiterOptions {
  readonly points: number
  readonly durationSeconds: number
  /** The maximum number of keys that are counted exactly. */
  readonly keysMax: number
}

/** Counts uses by key, only in this process. Each function takes effect synchronously, before the caller awaits its result. */
export interface MemoryLimiter {
  /** Counts one use. @returns the milliseconds to wait if no use was left, otherwise `undefined` */
  readonly consume: (key: string) => Promise<number | undefined>
  /** Returns the milliseconds to wait if no use is left, otherwise `undefined`. It does not count a use. */
  readonly waitMs: (key: string) => Promise<number | undefined>
  /**
   * Gives one use back, if the key has a use in a window that began before `takenMs` of `performance.now()`.
   * @returns whether a use was given back
   */
  readonly reward: (key: string, takenMs?: number) => Promise<boolean>
}

interface KeyWindow {
  uses: number
  /** Uses that the approximate counts contained when the window began. They still contain these uses. */
  readonly before: number
  readonly beganMs: number
}

/**
 * Returns a limiter that counts uses in this process. Beyond `keysMax` keys, the keys with the oldest windows are counted
 * approximately. So a client that tries many names does not fill the memory, and a flood of other keys does not reset the count
 * of any key.
 */
function memoryLimiter({ points, durationSeconds, keysMax }: MemoryLimiterOptions): MemoryLimiter {
  const periodMs = durationSeconds * 1_000
  /** Exactly counted keys, ordered by the beginning of their windows. */
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
      // Leave out refused uses, so that they do not lengthen the wait of their key.
      rough ??= new CountSketch(periodMs, nowMs)
      rough.add(key, Math.max(0, Math.min(points, uses) - before), nowMs)
    }
  }
  const begin = (key: string, nowMs: number): KeyWindow => {
    // Earlier uses of the key may have been moved to the approximate counts. They must still count.
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

/** Returns whole milliseconds, so that no rounding error makes a wait longer than its window. */
function readClockMs(): number {
  return Math.floor(performance.now())
}

const ROWS = 4
/** The number of cells in a row. After four million uses in a period, a key that was never counted reads about 10. */
const CELLS = 2 ** 18
const USES_MAX = 2 ** 16 - 1

/**
 * Counts the uses of any number of keys approximately, in 4 MiB. A count is never too low, and rarely too high. This is a
 * count-min sketch (Cormode and Muthukrishnan, 2005): each key has one cell in each row, and its count is the lowest of its
 * cells. The cells depend on a secret, so that no client can choose keys with the cells of another key. Uses are kept for one to
 * two periods.
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

  /** Begins a new period if the current one is over. */
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
