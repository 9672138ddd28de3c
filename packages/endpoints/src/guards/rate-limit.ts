import { checkLimit, systemClock } from '../config/settings.ts'
import { TooManyRequests } from '../errors.ts'
import type { Guard, GuardContext } from './guard.ts'

export interface Window {
  /** Hits in this window, with this one. */
  readonly count: number
  /** When it ends, in milliseconds since 1970. */
  readonly endsAtMs: number
}

/** Counts hits, in the process or for several processes together. */
export interface RateLimitStore {
  /**
   * Counts a hit. A window begins with the first hit after the last window has ended. `nowMs` counts from 1970. A hit beyond
   * `limit` is refused, so a store need not count it.
   */
  readonly hit: (key: string, ttlSeconds: number, nowMs: number, limit: number) => Window | Promise<Window>
}

/** How many requests a client may send in a window, and where they are counted. */
export interface RateLimitOptions {
  /** Hits that a window allows. */
  readonly limit: number
  /** How long a window lasts. */
  readonly ttlSeconds: number
  /** The name of the client. Default: its address, of IPv6 its network of 64 bits. An empty key is not limited. */
  readonly key?: (context: GuardContext) => string
  readonly store?: RateLimitStore
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

const KEYS_MAX = 5_000
/** How many counters the keys beyond that share, and how many of them each key has: 2.4 MB for each length of a window. */
const [CELLS, ROWS] = [2 ** 14, 4]
/** The parts of a window that are counted apart. A hit leaves the count when its window is over, or one part later. */
const PARTS = 8
/** Ended windows are looked for at most this often. */
const CLEAN_UP_MS = 1_000

/**
 * A guard that refuses a client with 429 after `limit` requests in a fixed window (reference: Rate limits). A refused request
 * does not move the window.
 * @throws RangeError for a limit or a window that is not a number
 */
export function rateLimit(options: RateLimitOptions): Guard {
  const {
    limit,
    ttlSeconds,
    key = ({ request }) => networkOf(request.ip),
    store = memoryStore(),
    now = systemClock,
  } = options
  checkLimit('limit', limit)
  checkLimit('ttlSeconds', ttlSeconds, 1)
  let warned = false
  const guard = async (context: GuardContext): Promise<void> => {
    const name = key(context)
    if (name === '') {
      if (!warned) context.request.application.log.warn('rateLimit: the key is empty, so nobody is counted')
      warned = true
      return
    }
    const nowMs = now()
    const { count, endsAtMs } = await store.hit(name, ttlSeconds, nowMs, limit)
    const reset = Math.max(1, Math.ceil((endsAtMs - nowMs) / 1_000))
    const { headers } = context.response
    headers.set('ratelimit-limit', String(limit))
    headers.set('ratelimit-remaining', String(Math.max(0, limit - count)))
    headers.set('ratelimit-reset', String(reset))
    if (count > limit) throw new TooManyRequests(reset)
  }
  return Object.assign(guard, { responses: { 429: `More than ${limit} requests in ${ttlSeconds} seconds` } })
}

/**
 * Counts in memory. At most `keysMax` keys have their own window until it ends. Each further key uses several shared counters,
 * and its count is the lowest of them. So such a key may be refused early, and its count is never too low. For shared counters,
 * all hits of the last `ttlSeconds` count.
 */
export function memoryStore(keysMax = KEYS_MAX): RateLimitStore {
  const windows = new Map<string, Window>()
  /** Counts by the seconds of a window. */
  const shared = new Map<number, SharedCounts>()
  let cleanUpAtMs = 0
  const hasRoom = (nowMs: number): boolean => {
    if (windows.size >= keysMax && nowMs >= cleanUpAtMs) {
      cleanUpAtMs = nowMs + CLEAN_UP_MS
      for (const [key, { endsAtMs }] of windows) if (endsAtMs <= nowMs) windows.delete(key)
    }
    return windows.size < keysMax
  }
  const count = (key: string, window: Window): Window => {
    windows.set(key, window)
    return window
  }
  return {
    hit(key, ttlSeconds, nowMs, limit = Number.POSITIVE_INFINITY) {
      const endsAtMs = nowMs + ttlSeconds * 1_000
      const own = windows.get(key)
      if (own && own.endsAtMs > nowMs) return count(key, { count: own.count + 1, endsAtMs: own.endsAtMs })
      if (own) return count(key, { count: 1, endsAtMs })
      const counts = shared.get(ttlSeconds) ?? countTogether(ttlSeconds * 1_000)
      shared.set(ttlSeconds, counts)
      const before = counts.read(key, nowMs)
      const window = { count: before.count + 1, endsAtMs: before.endsAtMs }
      // A refused hit is not counted, so that it does not delay the next one.
      if (window.count > limit) return window
      // A key that gets a window of its own goes on from where it was counted before.
      if (hasRoom(nowMs)) return count(key, { count: window.count, endsAtMs })
      counts.add(key, nowMs)
      return window
    },
  }
}

interface SharedCounts {
  /** The hits of a key in the last `ttlMs`, never too few, and when the first of them no longer counts. */
  readonly read: (key: string, nowMs: number) => Window
  readonly add: (key: string, nowMs: number) => void
}

/**
 * Counts the hits of any number of keys, by a count-min sketch (Cormode and Muthukrishnan, 2005) for each part of a window: a key
 * has a counter in each row, of which the lowest is read.
 */
function countTogether(ttlMs: number): SharedCounts {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0
  const parts = new Map<number, Uint32Array>()
  const partAt = (nowMs: number) => Math.floor((nowMs / ttlMs) * PARTS)
  const lowest = (counts: Uint32Array, cells: readonly number[]) => Math.min(...cells.map((cell) => counts[cell] ?? 0))
  return {
    read(key, nowMs) {
      const now = partAt(nowMs)
      for (const part of parts.keys()) if (part < now - PARTS) parts.delete(part)
      const cells = parts.size === 0 ? [] : cellsOf(key, seed)
      const hits = [...parts].map(([part, counts]) => ({ part, count: lowest(counts, cells) }))
      const first = hits.find(({ count }) => count > 0)?.part ?? now
      return {
        count: hits.reduce((sum, { count }) => sum + count, 0),
        endsAtMs: ((first + PARTS + 1) * ttlMs) / PARTS,
      }
    },
    add(key, nowMs) {
      const counts = parts.get(partAt(nowMs)) ?? new Uint32Array(ROWS * CELLS)
      parts.set(partAt(nowMs), counts)
      const cells = cellsOf(key, seed)
      const raised = lowest(counts, cells) + 1
      for (const cell of cells) counts[cell] = Math.max(counts[cell] ?? 0, raised)
    },
  }
}

/** The shared counters of a key: one of each row. The seed keeps a client from choosing keys that share those of another. */
function cellsOf(key: string, seed: number): readonly number[] {
  return Array.from({ length: ROWS }, (_, row) => {
    let hash = (seed ^ Math.imul(row + 1, 0x9e3779b1)) >>> 0
    // FNV-1a, with a last mix that spreads keys which differ in their end alone.
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    return row * CELLS + (((hash ^ (hash >>> 13)) >>> 0) % CELLS)
  })
}

/** `192.0.2.7:1234`, `[2001:db8::1]:1234`, as some proxies write them. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/

/** The network of an IPv6 address, because a client can take any address of it. IPv4 inside IPv6 counts as IPv4. */
function networkOf(address: string): string {
  const bare = address.replace(WITH_PORT, '$1$2')
  const [unzoned = ''] = bare.split('%', 1)
  const url = `http://[${unzoned}]`
  if (!/^[\da-f:.]+$/i.test(unzoned) || !unzoned.includes(':') || !URL.canParse(url)) return bare
  // A URL has a single form for each address. In it, `::` stands for parts that are 0.
  const { hostname } = new URL(url)
  const [head = [], tail] = hostname
    .slice(1, -1)
    .split('::')
    .map((side) => side.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - (tail?.length ?? 0) }, () => '0')
  const parts = [...head, ...zeros, ...(tail ?? [])]
  if (parts.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return `${parts.slice(0, 4).join(':')}::/64`
  return parts
    .slice(6)
    .map((part) => Number.parseInt(part, 16))
    .flatMap((number) => [number >> 8, number & 255])
    .join('.')
}
