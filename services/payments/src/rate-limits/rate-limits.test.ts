import { memoryStore, openLimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { createRateLimits, type RateLimit } from './rate-limits.ts'

const config = {
  requestsPerSecond: 1,
  appsPerMinute: 3,
  failuresPerMinute: 0,
  checkoutsPerSecond: 1,
  refusalsPerTenMinutes: 2,
  mailsPerHour: 0,
  invitationsPerHour: 0,
}
const take = async (limit: RateLimit, count: number) => {
  const answers: unknown[] = []
  for (const _ of Array.from({ length: count })) answers.push(await limit.consume('key'))
  return answers
}
const WAIT = expect.toSatisfy((seconds: number) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 60)

describe('createRateLimits', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(() => database.close())

  it('counts by kind and key, answers whole seconds to wait, and is switched off by 0', async () => {
    const { requests, apps, failures, refusals } = createRateLimits(config, memoryStore())
    expect(await take(apps, 5)).toEqual([undefined, undefined, undefined, WAIT, WAIT])
    expect(await apps.consume('other')).toBeUndefined()
    expect(await take(requests, 3)).toEqual([undefined, undefined, WAIT])
    expect(await take(failures, 3)).toEqual([undefined, undefined, undefined])
    expect(await failures.wait('key')).toBeUndefined()
    expect(await refusals.wait('key')).toBeUndefined()
    expect(await take(refusals, 2)).toEqual([undefined, undefined])
    expect(await refusals.wait('key')).toBe(600)
  })

  it('counts an IPv6 address by its network, which belongs to one customer', async () => {
    const { apps, refusals, mails } = createRateLimits({ ...config, mailsPerHour: 1 }, memoryStore())
    for (const host of ['1', '2', '3']) expect(await apps.consume(`2001:db8:1:2::${host}`)).toBeUndefined()
    expect(await apps.consume('2001:db8:1:2:ffff::1')).toEqual(WAIT)
    expect(await apps.consume('2001:db8:1:3::1')).toBeUndefined()
    for (const host of ['1', '2']) await refusals.consume(`2001:db8:1:2::${host}`)
    expect(await refusals.wait('2001:db8:1:2::3')).toBe(600)
    // The keys of this limit are digests, so they are not grouped like IPv6 addresses.
    expect([await mails.consume('::1'), await mails.consume('::2')]).toEqual([undefined, undefined])
  })

  it('counts in PostgreSQL for all processes, as the role of the service', async () => {
    const open = async () => {
      const { store } = await openLimiterStore({ store: 'postgres', redisUrl: undefined }, database.database, () => {})
      return createRateLimits(config, store).apps
    }
    const [one, two] = [await open(), await open()]
    expect(await take(one, 2)).toEqual([undefined, undefined])
    expect(await take(two, 2)).toEqual([undefined, WAIT])
    expect(await take(one, 2)).toEqual([WAIT, WAIT])
    const row = await database.database.db.selectFrom('rate_limits').select('key').executeTakeFirstOrThrow()
    expect(row.key).toBe('app:key')
  })
})
