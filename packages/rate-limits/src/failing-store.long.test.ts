import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { canTestWith, startRedis, type TestRedis } from '@trestle/testing/find-program.ts'
import { portOf } from '@trestle/testing/free-port.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Limiter, openLimiterStore } from './limiter-store.ts'

const WINDOW = { points: 2, durationSeconds: 60 }
const WAIT = expect.toSatisfy((ms: number) => ms > 0 && ms <= 60_000)
const names = createNames('public', 'x')
const table = names.id('rate_limits')
const temporary = await createEmptyDatabase()
const database = openDatabase<object>({
  url: temporary.url,
  names,
  applicationName: 'limiter-test',
  // Use one connection, because the tests change its role.
  poolSize: 1,
  statementTimeoutMs: 5_000,
  lockTimeoutMs: 1_000,
  prepared,
  onConnectionError: () => {},
})
const errors: string[] = []
const onError = (error: Error) => errors.push(error.message)

beforeAll(async () => {
  await sql`CREATE TABLE ${table} (key text PRIMARY KEY, points integer, expire bigint)`.execute(database.db)
})
afterEach(() => {
  errors.length = 0
})
afterAll(async () => {
  await database.close()
  await temporary.drop()
})

async function take(limiter: Limiter, count: number, key = 'key'): Promise<unknown[]> {
  const waits: unknown[] = []
  for (const _ of Array.from({ length: count })) waits.push(await limiter.consume(key))
  return waits
}

/** Uses up a limiter, gives two uses back, and uses them again. */
async function useUp(limiter: Limiter) {
  const before = await limiter.waitMs('key')
  const waits = await take(limiter, 3)
  const after = await limiter.waitMs('key')
  for (const _ of [1, 2]) await limiter.reward('key')
  return { before, waits, after, again: await take(limiter, 2) }
}

const COUNTED = { before: undefined, waits: [undefined, undefined, WAIT], after: WAIT, again: [undefined, WAIT] }

describe('PostgreSQL, whose table the role may only read', () => {
  const role = `reader_${randomUUID().slice(0, 8)}`
  const as = (name: string) => sql`SET ROLE ${sql.raw(name)}`.execute(database.db)
  const open = (name: string) =>
    openLimiterStore({ store: 'postgres', redisUrl: undefined }, database, onError).then(({ store }) =>
      store(name, { ...WINDOW, returnable: true }),
    )

  beforeAll(async () => {
    await sql`CREATE ROLE ${sql.raw(role)}`.execute(database.db)
    await sql`GRANT SELECT ON ${table} TO ${sql.raw(role)}`.execute(database.db)
  })
  afterEach(() => as('NONE'))
  afterAll(async () => {
    await sql`DROP OWNED BY ${sql.raw(role)}`.execute(database.db)
    await sql`DROP ROLE ${sql.raw(role)}`.execute(database.db)
  })

  // ASVS 16.5.2
  it('counts in the process, refuses and takes back there, and reports each refused write', async () => {
    const limiter = await open('refused')
    await as(role)
    expect(await useUp(limiter)).toEqual(COUNTED)
    expect(errors).toEqual(Array(3).fill('permission denied for table x_rate_limits'))
  })

  it('refuses a key that the table has counted before', async () => {
    const limiter = await open('counted')
    await take(limiter, 2)
    await as(role)
    expect(await limiter.waitMs('key')).toEqual(WAIT)
  })

  it('refuses a key that the process has counted, when the table can be written again', async () => {
    const limiter = await open('again')
    await as(role)
    await take(limiter, 2)
    await as('NONE')
    expect([await limiter.waitMs('key'), await limiter.consume('key')]).toEqual([WAIT, WAIT])
    expect(await take(limiter, 3, 'other')).toEqual([undefined, undefined, WAIT])
  })
})

describe.runIf(canTestWith('redis-server'))('Redis, which answers reads and refuses writes', () => {
  let redis: TestRedis
  let admin: Redis

  beforeAll(async () => {
    redis = await startRedis()
    admin = new Redis(redis.url)
  })
  afterAll(async () => {
    admin.disconnect()
    await redis.stop()
  })

  it.each([
    ['a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    [
      'too few replicas',
      ['CONFIG', 'SET', 'min-replicas-to-write', '2'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    ],
    [
      'no scripts',
      ['ACL', 'SETUSER', 'default', '-evalsha', '-eval'],
      ['ACL', 'SETUSER', 'default', '+evalsha', '+eval'],
    ],
    ['no writes', ['ACL', 'SETUSER', 'default', '-@write'], ['ACL', 'SETUSER', 'default', '+@write']],
  ])('counts in the process with %s, and reports each failed command', async (name, begin, end) => {
    expect(await useUpWhile(name, begin, end)).toEqual(COUNTED)
    expect(errors).toEqual(Array(3).fill(expect.any(String)))
  })

  it('counts in both without the right to read, and takes nothing back that it cannot read', async () => {
    const used = await useUpWhile(
      'unreadable',
      ['ACL', 'SETUSER', 'default', '-get'],
      ['ACL', 'SETUSER', 'default', '+get'],
    )
    expect(used).toEqual({ ...COUNTED, again: [WAIT, WAIT] })
    expect(errors).toEqual(Array(2).fill(expect.any(String)))
  })

  async function useUpWhile(name: string, begin: readonly string[], end: readonly string[]) {
    const { store, check, close } = await openLimiterStore({ store: 'redis', redisUrl: redis.url }, database, onError)
    await check()
    const [command = '', ...args] = begin
    const [endCommand = '', ...endArgs] = end
    await admin.call(command, ...args)
    const used = await useUp(store(name, { ...WINDOW, returnable: true }))
    await admin.call(endCommand, ...endArgs)
    close()
    return used
  }
})

/** The replies after which a client considers a Redis server ready. */
const GREETINGS: ReadonlyMap<string | undefined, string> = new Map([
  ['hello', '%0\r\n'],
  ['client', '+OK\r\n'],
  ['info', '$17\r\nredis_version:7.0\r\n'],
  ['ping', '+PONG\r\n'],
])

describe('a Redis that answers with no count', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) server.close()
  })

  async function answerWith(reply: string): Promise<string> {
    const server = createServer((socket) => {
      socket.on('data', (data) => {
        for (const [, command] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          socket.write(GREETINGS.get(command) ?? reply)
        }
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
    return `redis://127.0.0.1:${portOf(server)}`
  }

  it.each([
    ['nothing', '$-1\r\n'],
    ['a number', ':1\r\n'],
    ['an empty list', '*0\r\n'],
    ['texts', '*2\r\n$3\r\nabc\r\n$2\r\n-1\r\n'],
    ['a negative count', '*2\r\n:-5\r\n:60000\r\n'],
    ['no use', '*2\r\n:0\r\n:60000\r\n'],
    ['no time', '*2\r\n:9999\r\n:-1\r\n'],
    ['a time beyond the window', '*2\r\n:9999\r\n:99999998000\r\n'],
    ['an error', '-ERR no\r\n'],
  ])('counts in the process after %s, and reports it', async (_, reply) => {
    const { store, check, close } = await openLimiterStore(
      { store: 'redis', redisUrl: await answerWith(reply) },
      database,
      onError,
    )
    await check()
    expect(await take(store('a', { ...WINDOW, returnable: true }), 3)).toEqual([undefined, undefined, WAIT])
    close()
    expect(errors).toEqual(Array(2).fill(expect.any(String)))
  })
})

describe('a count that ends after its window', () => {
  const window = { ...WINDOW, returnable: true }

  it('counts for nothing in PostgreSQL, so that no key waits longer than a window', async () => {
    const { store } = await openLimiterStore({ store: 'postgres', redisUrl: undefined }, database, onError)
    const expire = Date.now() + 99_999_999_000
    await sql`INSERT INTO ${table} VALUES ('ahead:key', 3, ${expire}), ('returned:key', 3, ${expire})`.execute(
      database.db,
    )
    expect(await store('ahead', WINDOW).waitMs('key')).toBeUndefined()
    expect(await take(store('ahead', WINDOW), 3)).toEqual([undefined, undefined, WAIT])
    expect(await take(store('returned', window), 3)).toEqual([undefined, undefined, WAIT])
    expect(new Set(errors)).toEqual(new Set(['The store of the rate limits answered with no count']))
  })

  it.runIf(canTestWith('redis-server'))('counts for nothing in Redis, and is forgotten with its key', async () => {
    const redis = await startRedis()
    const admin = new Redis(redis.url)
    const { store, check, close } = await openLimiterStore({ store: 'redis', redisUrl: redis.url }, database, onError)
    await check()
    for (const name of ['ahead', 'returned']) await admin.set(`x_public:${name}:key`, '3', 'EX', 99_999_999)
    const limiter = store('ahead', { points: 2, durationSeconds: 1 })
    const soon = expect.toSatisfy((ms: number) => ms > 0 && ms <= 1_000)
    expect(await limiter.waitMs('key')).toBeUndefined()
    expect(await take(limiter, 3)).toEqual([undefined, undefined, soon])
    expect(await take(store('returned', window), 3)).toEqual([undefined, undefined, WAIT])
    await admin.flushall()
    await expect.poll(() => limiter.consume('key'), { timeout: 60_000 }).toBeUndefined()
    close()
    admin.disconnect()
    await redis.stop()
  })
})
