import { checkLimit, systemClock } from '../config/settings.ts'
import { TooManyRequests } from '../errors.ts'
import type { Guard, GuardContext } from './guard.ts'

export interface Window {
  /** The number of hits in this window, including the current one. */
  readonly count: number
  /** The end of the window, in milliseconds since 1970. */
  readonly endsAtMs: number
}

/** Counts hits, for one process or for several processes together. */
export interface RateLimitStore {
  /**
   * Counts a hit. A window begins with the first hit after the end of the last window. `nowMs` is in milliseconds since 1970. A
   * store need not count hits beyond `limit`, because they are refused anyway.
   */
  readonly hit: (key: string, ttlSeconds: number, nowMs: number, limit: number) => Window | Promise<Window>
}

/** How many requests a client may send in a window, and where they are counted. */
export interface RateLimitOptions {
  /** The maximum number of hits in a window. */
  readonly limit: number
  /** The length of a window in seconds. */
  readonly ttlSeconds: number
  /** Names the client. By default it is the address, or for IPv6 the /64 network. An empty key is not limited. */
  readonly key?: (context: GuardContext) => string
  readonly store?: RateLimitStore
  /** Returns the current time in milliseconds since 1970. */
  readonly now?: () => number
}

const KEYS_MAX = 5_000
/** The counters in a row, and the rows. Further keys share these counters: 2.4 MB for each length of a window. */
const [CELLS, ROWS] = [2 ** 14, 4]
/** The number of parts of a window that have separate counters. A hit stops counting when its window ends, or one part later. */
const PARTS = 8
/** The minimum time between two removals of ended windows. */
const CLEAN_UP_MS = 1_000

/**
 * Creates a guard that refuses a client with 429 after `limit` requests in a fixed window (reference: Rate limits). A refused
 * request does not extend the window.
 * @throws RangeError if the limit or the window is not a valid number
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
 * Creates a store that counts in memory. At most `keysMax` keys have a separate window until it ends. Each further key uses
 * several shared counters, and its count is the lowest of them. Its count is never too low, but the key may be refused early.
 * Shared counters count all hits of the last `ttlSeconds`.
 */
export function memoryStore(keysMax = KEYS_MAX): RateLimitStore {
  const windows = new Map<string, Window>()
  /** The shared counters, by the length of the window in seconds. */
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
      // Do not count a refused hit, so that it does not delay later hits.
      if (window.count > limit) return window
      // If a separate window is free for the key, continue with the key's shared count.
      if (hasRoom(nowMs)) return count(key, { count: window.count, endsAtMs })
      counts.add(key, nowMs)
      return window
    },
  }
}

interface SharedCounts {
  /** Returns the hits of a key in the last `ttlMs`, never too few, and when the first hit expires. */
  readonly read: (key: string, nowMs: number) => Window
  readonly add: (key: string, nowMs: number) => void
}

/**
 * Counts the hits of any number of keys. Uses a count-min sketch (Cormode and Muthukrishnan, 2005) for each part of a window. A
 * key has one counter in each row, and its count is the lowest of these counters.
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

/** Returns the counters of a key. Because of the seed, clients cannot choose keys that share another client's counters. */
function cellsOf(key: string, seed: number): readonly number[] {
  return Array.from({ length: ROWS }, (_, row) => {
    let hash = (seed ^ Math.imul(row + 1, 0x9e3779b1)) >>> 0
    // This is an FNV-1a hash with a final mix. The mix spreads keys that differ only at their end.
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    return row * CELLS + (((hash ^ (hash >>> 13)) >>> 0) % CELLS)
  })
}

/** An address with a port, as some proxies write it, such as `192.0.2.7:1234` or `[2001:db8::1]:1234`. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/

/** Returns the network of an IPv6 address, because a client can use all its addresses. Unwraps IPv4 inside IPv6. */
function networkOf(address: string): string {
  const bare = address.replace(WITH_PORT, '$1$2')
  const [unzoned = ''] = bare.split('%', 1)
  const url = `http://[${unzoned}]`
  if (!/^[\da-f:.]+$/i.test(unzoned) || !unzoned.includes(':') || !URL.canParse(url)) return bare
  // In a URL, each IPv6 address has only one form. `::` stands for parts that are 0.
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
