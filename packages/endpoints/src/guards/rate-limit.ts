import { systemClock } from '../config/environment.ts'
import { checkLimit } from '../config/limit.ts'
import { TooManyRequests } from '../errors.ts'
import type { Guard, GuardContext } from './guard.ts'

/** The window of a key after a hit. */
export interface Window {
  /** Hits in this window, with this one. */
  readonly count: number
  /** When it ends, in milliseconds since 1970. */
  readonly endsAtMs: number
}

/** Counts hits, in the process or for several processes together. */
export interface RateLimitStore {
  /** Counts a hit. A window begins with the first hit after the last window has ended. `nowMs` counts from 1970. */
  readonly hit: (key: string, ttlSeconds: number, nowMs: number) => Window | Promise<Window>
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
    const { count, endsAtMs } = await store.hit(name, ttlSeconds, nowMs)
    const reset = Math.max(1, Math.ceil((endsAtMs - nowMs) / 1_000))
    const { headers } = context.response
    headers.set('ratelimit-limit', String(limit))
    headers.set('ratelimit-remaining', String(Math.max(0, limit - count)))
    headers.set('ratelimit-reset', String(reset))
    if (count > limit) throw new TooManyRequests(reset)
  }
  return Object.assign(guard, { responses: { 429: `More than ${limit} requests in ${ttlSeconds} seconds` } })
}

/** Counts in memory, for at most 5,000 keys. The key that was unused for the longest time is dropped first. */
export function memoryStore(keysMax = KEYS_MAX): RateLimitStore {
  const windows = new Map<string, Window>()
  return {
    hit(key, ttlSeconds, nowMs) {
      const known = windows.get(key)
      const window =
        known === undefined || known.endsAtMs <= nowMs
          ? { count: 1, endsAtMs: nowMs + ttlSeconds * 1_000 }
          : { count: known.count + 1, endsAtMs: known.endsAtMs }
      // A map keeps the order of insertion, so the first key was unused for the longest time.
      windows.delete(key)
      windows.set(key, window)
      const [oldest] = windows.keys()
      if (windows.size > keysMax && oldest !== undefined) windows.delete(oldest)
      return window
    },
  }
}

/** `192.0.2.7:1234`, `[2001:db8::1]:1234`, as some proxies write them. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/

/** The network of an IPv6 address, because a client can take any address of it. IPv4 inside IPv6 counts as IPv4. */
function networkOf(address: string): string {
  const bare = address.replace(WITH_PORT, '$1$2')
  const [unzoned = ''] = bare.split('%', 1)
  const url = `http://[${unzoned}]`
  if (!/^[\da-f:.]*:[\da-f:.]*$/i.test(unzoned) || !URL.canParse(url)) return bare
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
