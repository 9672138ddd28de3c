import { once } from 'node:events'
import { createServer } from 'node:net'
import { openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { canTestWith, startRedis } from '@trestle/testing/find-program.ts'
import { portOf } from '@trestle/testing/free-port.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CountSketch, type Limiter, memoryStore, type OpenLimiterStore, openLimiterStore } from './limiter-store.ts'

const WINDOW = { points: 2, durationSeconds: 60 }
const WAIT = expect.toSatisfy((ms: number) => ms > 0 && ms <= 60_000)
const names = createNames('public', 'x')
const temporary = await createEmptyDatabase()
const errors: Error[] = []
const openWith = (url: string) =>
  openDatabase<object>({
    url,
    names,
    applicationName: 'limiter-test',
    poolSize: 2,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 1_000,
    prepared,
    onConnectionError: () => {},
  })
const database = openWith(temporary.url)
const redis = canTestWith('redis-server') ? await startRedis() : undefined
const open = (
  store: 'memory' | 'postgres' | 'redis',
  redisUrl = redis?.url,
  on = database,
): Promise<OpenLimiterStore> => openLimiterStore({ store, redisUrl }, on, (error) => errors.push(error))

beforeAll(async () => {
  await sql`CREATE TABLE ${names.id('rate_limits')} (key text PRIMARY KEY, points integer, expire bigint)`.execute(
    database.db,
  )
})
afterAll(async () => {
  await redis?.stop()
  await database.close()
  await temporary.drop()
})

/** The replies after which a client considers a Redis server ready. */
const GREETINGS: ReadonlyMap<string | undefined, string> = new Map([
  ['hello', '%0\r\n'],
  ['client', '+OK\r\n'],
  ['info', '$17\r\nredis_version:7.0\r\n'],
])

async function take(limiter: Limiter, count: number): Promise<unknown[]> {
  const waits: unknown[] = []
  for (const _ of Array.from({ length: count })) waits.push(await limiter.consume('key'))
  return waits
}

const kinds = (['memory', 'postgres', 'redis'] as const).filter((kind) => kind !== 'redis' || redis !== undefined)

/** Opens two processes with a common store. For `memory`, both are the same process. */
async function openTwice(kind: 'memory' | 'postgres' | 'redis') {
  const one = await open(kind)
  const two = kind === 'memory' ? one : await open(kind)
  await Promise.all([one.check(), two.check()])
  const close = () => [one, two].map((each) => each.close())
  return { one: one.store, two: two.store, close }
}

describe.each(kinds)('openLimiterStore in %s', (kind) => {
  it('refuses beyond the points of a window, by name and key', async () => {
    const { store, check, close } = await open(kind)
    await check()
    const limiter = store('a', WINDOW)
    expect(await limiter.waitMs('key')).toBeUndefined()
    expect(await take(limiter, 3)).toEqual([undefined, undefined, WAIT])
    expect(await limiter.waitMs('key')).toEqual(WAIT)
    expect(await limiter.consume('other')).toBeUndefined()
    expect(await take(store('b', WINDOW), 1)).toEqual([undefined])
    close()
  })

  it('takes uses back, even after a refusal', async () => {
    const { store, check, close } = await open(kind)
    await check()
    const limiter = store('returnable', { ...WINDOW, returnable: true })
    expect(await take(limiter, 3)).toEqual([undefined, undefined, WAIT])
    await limiter.reward('key', performance.now())
    await limiter.reward('key')
    expect(await take(limiter, 1)).toEqual([undefined])
    close()
  })

  it('takes back no more uses than there are, when many are taken back at once by two processes', async () => {
    const { one, two, close } = await openTwice(kind)
    const window = { ...WINDOW, returnable: true }
    const limiter = one('at once', window)
    const other = kind === 'memory' ? limiter : two('at once', window)
    await limiter.consume('key')
    await Promise.all(Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? limiter : other).reward('key')))
    expect([...(await take(limiter, 1)), ...(await take(other, 2))]).toEqual([undefined, undefined, WAIT])
    close()
  })

  it('takes back no use of a window that is over', async () => {
    const { store, check, close } = await open(kind)
    await check()
    const limiter = store('turn', { points: 2, durationSeconds: 1, returnable: true })
    await take(limiter, 2)
    const takenMs = performance.now()
    await expect.poll(() => limiter.waitMs('key'), { timeout: 60_000 }).toBeUndefined()
    await limiter.reward('key', takenMs)
    expect(await take(limiter, 2)).toEqual([undefined, undefined])
    for (const _ of [1, 2]) await limiter.reward('key', takenMs)
    expect(await take(limiter, 1)).toEqual([expect.toSatisfy((ms: number) => ms > 0 && ms <= 1_000)])
    close()
  })
})

describe('openLimiterStore in a shared store', () => {
  it('counts for all processes together', async () => {
    const [one, two] = [
      (await open('postgres')).store('shared', WINDOW),
      (await open('postgres')).store('shared', WINDOW),
    ]
    expect([...(await take(one, 1)), ...(await take(two, 2))]).toEqual([undefined, undefined, WAIT])
  })

  it('does not ask the store again about a refused key', async () => {
    const limiter = (await open('postgres')).store('remembered', WINDOW)
    await take(limiter, 5)
    const { rows } = await sql`SELECT points FROM ${names.id('rate_limits')} WHERE key = 'remembered:key'`.execute(
      database.db,
    )
    expect(rows).toEqual([{ points: 3 }])
  })

  // ASVS 16.5.2
  it('counts in the process while PostgreSQL is away, and reports it', async () => {
    const away = openWith('postgres://nobody@127.0.0.1:1/none')
    errors.length = 0
    const limiter = (await open('postgres', '', away)).store('away', WINDOW)
    expect(await take(limiter, 3)).toEqual([undefined, undefined, WAIT])
    expect(await limiter.waitMs('key')).toEqual(WAIT)
    expect(errors.length).toBe(3)
    await away.close()
  })

  it('counts in the process while Redis is unavailable, and reports it', async () => {
    errors.length = 0
    const { store, close } = await open('redis', 'redis://127.0.0.1:1')
    expect(await take(store('away', WINDOW), 3)).toEqual([undefined, undefined, WAIT])
    await expect.poll(() => errors.length).toBeGreaterThan(0)
    close()
  })

  it('does not wait for a Redis that never answers', async () => {
    let commands = 0
    const silent = createServer((socket) => {
      socket.on('data', (data) => {
        for (const [, command] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          const greeting = GREETINGS.get(command)
          if (greeting === undefined) commands++
          else socket.write(greeting)
        }
      })
    })
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { store, close } = await open('redis', `redis://127.0.0.1:${portOf(silent)}`)
    const limiter = store('silent', WINDOW)
    const ask = async () => {
      await limiter.waitMs('other')
      return commands
    }
    await expect.poll(ask).toBeGreaterThan(0)
    expect(await take(limiter, 3)).toEqual([undefined, undefined, WAIT])
    close()
    silent.close()
  })
})

describe('memoryStore', () => {
  const openSmall = (keysMax: number) => {
    const store = memoryStore(keysMax)
    const limiter = store('a', WINDOW)
    const useUp = async (key: string) => {
      for (let use = 0; use < 3; use += 1) await limiter.consume(key)
      return limiter.waitMs(key)
    }
    const areUsedUp = (...keys: string[]) =>
      Promise.all(keys.map(async (key) => (await limiter.waitMs(key)) !== undefined))
    return { store, limiter, useUp, areUsedUp }
  }

  it('forgets no use, whatever other keys are used', async () => {
    const { store, limiter, useUp, areUsedUp } = openSmall(4)
    const other = store('b', WINDOW)
    await useUp('used up')
    await limiter.consume('used once')
    for (let count = 0; count < 20; count += 1) await useUp(`other ${count}`)
    expect(await areUsedUp('used up', 'used once', 'other 0', 'never used')).toEqual([true, false, true, false])
    expect(await limiter.consume('used up')).toEqual(WAIT)
    expect(await limiter.consume('used once')).toBeUndefined()
    expect(await limiter.consume('used once')).toEqual(WAIT)
    expect(await limiter.consume('never used')).toBeUndefined()
    expect(await other.waitMs('used up')).toBeUndefined()
  })

  it('counts a use once, however often its key is forgotten', async () => {
    const limiter = memoryStore(1)('c', { points: 10, durationSeconds: 60 })
    const waits: (number | undefined)[] = []
    for (let use = 0; use < 11; use += 1) {
      waits.push(await limiter.consume('key'))
      await limiter.consume(`other ${use}`)
    }
    expect(waits).toEqual([...Array(10).fill(undefined), WAIT])
  })

  it('counts no refused use of a key that is forgotten, so that the key is served again', async () => {
    const limiter = memoryStore(1)('d', { points: 2, durationSeconds: 1 })
    vi.useFakeTimers()
    const servedMs: number[] = []
    for (let nowMs = 0; nowMs < 6_000; nowMs += 100) {
      if ((await limiter.consume('key')) === undefined) servedMs.push(nowMs)
      await limiter.consume(`other ${nowMs}`)
      vi.advanceTimersByTime(100)
    }
    vi.useRealTimers()
    expect(servedMs.slice(0, 2)).toEqual([0, 100])
    expect(servedMs.filter((ms) => ms >= 3_000).length).toBeGreaterThanOrEqual(2)
  })
})

describe('the memory of a limiter in a shared store', () => {
  it('counts 20,000 keys exactly while Redis is unavailable', async () => {
    const { store, close } = await open('redis', 'redis://127.0.0.1:1')
    const limiter = store('away', { points: 1, durationSeconds: 60 })
    for (let key = 0; key <= 20_000; key += 1) await limiter.consume(String(key))
    // The window of an approximately counted key has no known beginning, so its wait is the whole window.
    expect([await limiter.waitMs('0'), await limiter.waitMs('1')]).toEqual([
      60_000,
      expect.toSatisfy((ms) => ms < 60_000),
    ])
    close()
  })

  it.runIf(redis)('remembers 20,000 refused keys, and asks the store again about others', async () => {
    const { store, check, close } = await open('redis')
    await check()
    const limiter = store('refused', { points: 1, durationSeconds: 3_600 })
    const client = new Redis(redis?.url ?? '')
    const refuse = (key: number) => Promise.all([key, key].map((each) => limiter.consume(String(each))))
    for (let key = 0; key < 20_000; key += 1_000) {
      await Promise.all(Array.from({ length: 1_000 }, (_, at) => refuse(key + at)))
    }
    await limiter.consume('0')
    await refuse(20_000)
    await limiter.consume('0')
    expect(await client.mget('x_public:refused:0', 'x_public:refused:1')).toEqual(['3', '2'])
    client.disconnect()
    close()
  })
})

const PERIOD_MS = 60_000

describe('CountSketch', () => {
  it('never reads fewer uses than there were', () => {
    const uses = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 30 })), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(uses, (all) => {
        const sketch = new CountSketch(PERIOD_MS, 0)
        for (const [key, count] of all) sketch.add(key, count, 0)
        for (const key of ['a', 'b', 'c', 'd']) {
          const used = all.reduce((sum, [name, count]) => sum + (name === key ? count : 0), 0)
          expect(sketch.read(key, 0)).toBeGreaterThanOrEqual(used)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('reads almost 0 for unused keys, even after a flood', () => {
    const sketch = new CountSketch(PERIOD_MS, 0)
    for (let count = 0; count < 100_000; count += 1) sketch.add(`flood ${count}`, 1, 0)
    const told = Array.from({ length: 1_000 }, (_, count) => sketch.read(`quiet ${count}`, 0))
    expect(told.filter((uses) => uses > 0).length).toBeLessThan(50)
  })

  it('forgets uses after two periods', () => {
    const sketch = new CountSketch(PERIOD_MS, 0)
    sketch.add('key', 3, 0)
    sketch.add('key', 2, PERIOD_MS)
    expect([
      sketch.read('key', PERIOD_MS),
      sketch.read('key', 2 * PERIOD_MS),
      sketch.read('key', 3 * PERIOD_MS),
    ]).toEqual([5, 2, 0])
  })
})
