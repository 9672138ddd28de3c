import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { Application, Controller, memoryStore, rateLimit } from '../endpoints.ts'

describe('rate limits', () => {
  let time = 1_000
  class Limited extends Controller {
    static override use = [
      rateLimit({ limit: 2, ttlSeconds: 10, key: ({ request }) => request.header('x-key') ?? '', now: () => time }),
    ]
    GET() {
      return 'in'
    }
  }
  const hit = async (app: EveryInterface['app'], key: string) => {
    const { status, headers } = await app.inject({ path: '/limited', headers: { 'x-key': key } })
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']
    return [status, ...names.map((name) => headers.get(name))]
  }

  it('429: refuses requests beyond the limit, until the window of the first one ends', async () => {
    const { app, close } = await everyInterface({ modules: { index: { Limited } } })
    expect(await hit(app, 'a')).toEqual([200, '2', '1', '10', null])
    time = 5_500
    expect(await hit(app, 'a')).toEqual([200, '2', '0', '6', null])
    expect(await hit(app, 'a')).toEqual([429, '2', '0', '6', '6'])
    expect(await hit(app, 'b')).toEqual([200, '2', '1', '10', null])
    time = 10_999
    expect(await hit(app, 'a')).toEqual([429, '2', '0', '1', '1'])
    time = 11_000
    expect(await hit(app, 'a')).toEqual([200, '2', '1', '10', null])
    await close()
  })

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['192.0.2.7:1234', '192.0.2.7'],
    ['[2001:db8:1:2::1]:1234', '2001:db8:1:2::/64'],
    ['unknown:1234', 'unknown:1234'],
    ['unknown', 'unknown'],
  ])('count %s under %s without a key', async (address, key) => {
    const keys: string[] = []
    const store = memoryStore()
    const hit: typeof store.hit = (name, ...more) => {
      keys.push(name)
      return store.hit(name, ...more)
    }
    class Counted extends Controller {
      static override use = [rateLimit({ limit: 1, ttlSeconds: 1, store: { hit } })]
      GET() {}
    }
    const app = new Application({ modules: { index: { Counted } }, trustProxy: 1 })
    await app.inject({ path: '/counted', headers: { 'x-forwarded-for': address } })
    expect(keys).toEqual([key])
  })

  it('count no client without a key, and warn of it once', async () => {
    const warnings: string[] = []
    const log = { warn: (message: string) => warnings.push(message), error: () => {} }
    const { app, close } = await everyInterface({ modules: { index: { Limited } }, log })
    for (let i = 0; i < 4; i += 1) expect(await hit(app, '')).toEqual([200, null, null, null, null])
    expect(warnings).toEqual(['rateLimit: the key is empty, so nobody is counted'])
    await close()
  })

  it.each([
    [{ limit: Number.NaN, ttlSeconds: 1 }],
    [{ limit: 1, ttlSeconds: Number.NaN }],
    [{ limit: -1, ttlSeconds: 1 }],
  ])('refuses %j, which would limit nothing', (options) => {
    expect(() => rateLimit(options)).toThrow('must be a number')
  })

  it('forget no window that lasts, however many other keys come', async () => {
    const store = memoryStore(2)
    const countOf = async (key: string, nowMs = 0) => (await store.hit(key, 10, nowMs, 100_000)).count
    expect([await countOf('a'), await countOf('b'), await countOf('late'), await countOf('late')]).toEqual([1, 1, 1, 2])
    for (let other = 0; other < 6_000; other += 1) await countOf(`other ${other}`)
    expect([await countOf('a'), await countOf('b')]).toEqual([2, 2])
    expect(await countOf('late')).toBeGreaterThanOrEqual(3)
  })

  it('let a key that gets a window of its own go on from where it was counted before', async () => {
    const store = memoryStore(1)
    const hits = [
      ['a', 0],
      ['b', 5_000],
      ['b', 9_000],
      ['b', 10_000],
      ['b', 19_999],
      ['b', 20_000],
    ] as const
    const counted = await Promise.all(hits.map(([key, nowMs]) => store.hit(key, 10, nowMs, 100)))
    expect(counted.map(({ count }) => count)).toEqual([1, 1, 2, 3, 4, 1])
  })

  it('allow no key more than its limit in a window, while other keys come and end at any time', async () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 1, max: 4_000 }),
      others: fc.integer({ min: 0, max: 40 }),
      hits: fc.integer({ min: 0, max: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        async (steps, limit) => {
          const store = memoryStore(3)
          const allowed: { readonly atMs: number; readonly count: number; readonly endsAtMs: number }[] = []
          let [nowMs, other] = [0, 0]
          for (const { waitMs, others, hits } of steps) {
            nowMs += waitMs
            for (let one = 0; one < others; one += 1) await store.hit(`other ${other++}`, 10, nowMs, 100)
            for (let one = 0; one < hits; one += 1) {
              const window = await store.hit('key', 10, nowMs, limit)
              if (window.count <= limit) allowed.push({ atMs: nowMs, ...window })
            }
          }
          // Until the end that a hit names, at most the rest of the limit is allowed. Shared counters may name a later end.
          allowed.forEach(({ atMs, count, endsAtMs }, index) => {
            const end = Math.min(endsAtMs, atMs + 10_000)
            const later = allowed.slice(index + 1).filter((hit) => hit.atMs < end)
            expect(later.length).toBeLessThanOrEqual(limit - count)
          })
        },
      ),
      { numRuns: 30 },
    )
  })

  it('allow a key that never stops its limit in each window', async () => {
    const store = memoryStore(1)
    await store.hit('a', 1_000, 0, 1)
    const allowedAtMs: number[] = []
    for (let nowMs = 1; nowMs < 60_000; nowMs += 100) {
      if ((await store.hit('key', 10, nowMs, 5)).count <= 5) allowedAtMs.push(nowMs)
    }
    expect(windowsOf(allowedAtMs, 10_000).map(({ length }) => length)).toEqual(Array(6).fill(5))
  })
})

/** Groups times into windows. Each window begins with the first time after the end of the last window. */
function windowsOf(timesMs: readonly number[], ttlMs: number): number[][] {
  const windows: number[][] = []
  for (const timeMs of timesMs) {
    const [last] = windows.slice(-1)
    if (last?.[0] !== undefined && timeMs < last[0] + ttlMs) last.push(timeMs)
    else windows.push([timeMs])
  }
  return windows
}
