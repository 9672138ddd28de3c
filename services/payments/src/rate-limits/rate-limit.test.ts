import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { openRateLimitStore } from './open-store.ts'
import { createRateLimit } from './rate-limit.ts'

const window = (name: string) => ({ name, events: 3, seconds: 60 })
const take = async (limit: { consume(key: string): Promise<unknown> }, count: number) => {
  const answers: unknown[] = []
  for (const _ of Array.from({ length: count })) answers.push(await limit.consume('key'))
  return answers
}
const WAIT = expect.toSatisfy((seconds: number) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 60)

describe('createRateLimit', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(() => database.close())

  it('counts by key in the process', async () => {
    const limit = createRateLimit(window('memory'), { kind: 'memory' })
    expect(await take(limit, 5)).toEqual([undefined, undefined, undefined, WAIT, WAIT])
    expect(await limit.consume('other')).toBeUndefined()
  })

  it('is off at 0', async () => {
    const limit = createRateLimit({ ...window('off'), events: 0 }, { kind: 'memory' })
    expect(await take(limit, 5)).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it('counts in PostgreSQL for all processes, as the role of the service', async () => {
    const open = () =>
      openRateLimitStore({ rateLimitStore: 'postgres', redisUrl: undefined }, database.database, () => {})
    const [one, two] = [
      createRateLimit(window('shared'), await open()),
      createRateLimit(window('shared'), await open()),
    ]
    expect(await take(one, 2)).toEqual([undefined, undefined])
    expect(await take(two, 2)).toEqual([undefined, WAIT])
    expect(await take(one, 2)).toEqual([WAIT, WAIT])
    const row = await database.database.db.selectFrom('rate_limits').select('key').executeTakeFirstOrThrow()
    expect(row.key).toBe('shared:key')
  })

  it('counts in the process while the store does not answer', async () => {
    const client = { query: () => Promise.reject(new Error('away')) }
    const limit = createRateLimit(window('away'), {
      kind: 'postgres',
      client,
      schema: 'payments',
      table: 'rate_limits',
    })
    expect(await take(limit, 4)).toEqual([undefined, undefined, undefined, WAIT])
  })
})
