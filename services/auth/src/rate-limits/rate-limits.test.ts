import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { memoryStore, openLimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { openTestDatabase } from '../../test/auth-database.ts'
import { outcomeOf, wrongPassword } from '../../test/bodies.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { overRequestRateLimit } from '../errors.ts'
import { createRateLimits, retryAfterSeconds, toWindow } from './rate-limits.ts'

const database = await openTestDatabase('app')
afterAll(() => database.drop())

const config = {
  header: undefined,
  store: 'memory',
  redisUrl: undefined,
  email: { points: 2, windowMs: 3_600_000 },
  sms: { points: 0, windowMs: 3_600_000 },
  token: 150,
  verify: 30,
  otp: 'off',
  sso: 30,
  passkey: 30,
  anonymousUsers: 2,
  factors: 15,
  failedChecks: 2,
} as const

const postgres = await openLimiterStore({ store: 'postgres', redisUrl: undefined }, database, () => {})
const stores = [
  ['memory', memoryStore()],
  ['PostgreSQL', postgres.store],
] as const

const outcome = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'passed',
    (error: unknown) => (error instanceof HttpError ? error.code : error),
  )

describe.each(stores)('createRateLimits in %s', (_name, store) => {
  const limits = createRateLimits(config, store)

  it('counts each key and bucket apart, up to the burst', async () => {
    const key = randomUUID()
    for (let i = 0; i < 30; i += 1) await limits.consume('verify', key)
    expect(await outcome(limits.consume('verify', key))).toBe('over_request_rate_limit')
    expect(await outcome(limits.consume('token', key))).toBe('passed')
    expect(await outcome(limits.consume('verify', randomUUID()))).toBe('passed')
    expect(await outcome(limits.consume('verify', undefined))).toBe('passed')
  })

  it('distinguishes keys of any length', async () => {
    const key = randomUUID().repeat(100)
    for (let i = 0; i < 2; i += 1) await limits.consume('anonymous', `${key}1`)
    expect(await outcome(limits.consume('anonymous', `${key}1`))).toBe('over_request_rate_limit')
    expect(await outcome(limits.consume('anonymous', `${key}2`))).toBe('passed')
  })

  it('names the time to wait', async () => {
    const key = randomUUID()
    for (let i = 0; i < 2; i += 1) await limits.consume('anonymous', key)
    const error = await limits.consume('anonymous', key).catch((thrown: unknown) => thrown)
    expect(error).toEqual(overRequestRateLimit({ headers: { 'retry-after': expect.stringMatching(/^3[56]\d\d$/) } }))
  })

  it('applies no limit when the setting is off', async () => {
    const key = randomUUID()
    for (let i = 0; i < 40; i += 1) await limits.consume('signup', key)
  })

  it('counts parallel requests against one limit', async () => {
    const key = randomUUID()
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => outcome(limits.consume('anonymous', key))))
    expect(outcomes.filter((each) => each === 'passed')).toHaveLength(2)
  })

  it('returns messages that were not sent', async () => {
    const first = await limits.email.take(undefined)
    await limits.email.take(undefined)
    expect(await outcome(limits.email.take(undefined))).toBe('over_email_send_rate_limit')
    await first.giveBack()
    await first.giveBack()
    await limits.email.take(undefined)
    expect(await outcome(limits.email.take(undefined))).toBe('over_email_send_rate_limit')
    await limits.email.giveBack(0)
    await limits.email.take(undefined)
    expect(await outcome(limits.email.take(undefined))).toBe('over_email_send_rate_limit')
    expect(await outcome(limits.sms.take(undefined))).toBe('over_sms_send_rate_limit')
  })

  it('returns a message to no window that began after it was counted', async () => {
    const { sms } = createRateLimits({ ...config, sms: { points: 1, windowMs: 3_600_000 } }, (name, window) =>
      store(`later:${name}`, window),
    )
    await sms.take(undefined)
    await sms.giveBack(600_000)
    expect(await outcome(sms.take(undefined))).toBe('over_sms_send_rate_limit')
    await sms.giveBack(0)
    expect(await outcome(sms.take(undefined))).toBe('passed')
  })

  it('reserves half of the messages for other clients', async () => {
    const { email } = createRateLimits({ ...config, email: { points: 6, windowMs: 3_600_000 } }, (name, window) =>
      store(`half:${name}`, window),
    )
    const [one, other] = [randomUUID(), randomUUID()]
    const first = await email.take(one)
    for (let i = 0; i < 2; i += 1) await email.take(one)
    expect(await outcome(email.take(one))).toBe('over_email_send_rate_limit')
    await first.giveBack()
    expect(await outcome(email.take(one))).toBe('passed')
    for (let i = 0; i < 3; i += 1) expect(await outcome(email.take(i === 0 ? undefined : other))).toBe('passed')
    expect(await outcome(email.take(other))).toBe('over_email_send_rate_limit')
    expect(await outcome(email.take(undefined))).toBe('over_email_send_rate_limit')
  })

  it('blocks after the limit of failed checks', async () => {
    const key = randomUUID()
    expect(await limits.failedChecks.isBlocked(key)).toBe(false)
    await limits.failedChecks.record(key)
    expect(await limits.failedChecks.isBlocked(key)).toBe(false)
    await limits.failedChecks.record(key)
    expect(await limits.failedChecks.isBlocked(key)).toBe(true)
    await limits.failedChecks.record(key)
    expect(await limits.failedChecks.isBlocked(key)).toBe(true)
  })

  // ASVS 6.3.1
  it('blocks a user after five times as many failed checks from any addresses', async () => {
    const key = randomUUID()
    for (let count = 0; count < 10; count += 1) {
      expect(await limits.failedFactorChecks.isBlocked(key)).toBe(false)
      await limits.failedFactorChecks.record(key)
    }
    expect(await limits.failedFactorChecks.isBlocked(key)).toBe(true)
  })
})

describe('createRateLimits with everything off', () => {
  it('lets every request through', async () => {
    const limits = createRateLimits({ ...config, email: 'off', sms: 'off', failedChecks: 'off' }, memoryStore())
    await (await limits.email.take(undefined)).giveBack()
    await limits.sms.giveBack(0)
    for (const limit of [limits.failedChecks, limits.failedFactorChecks]) {
      await limit.record('x')
      expect(await limit.isBlocked('x')).toBe(false)
    }
  })
})

describe('toWindow', () => {
  it.each([
    [30, 300, 30, { points: 30, durationSeconds: 300 }],
    [150, 300, 30, { points: 30, durationSeconds: 60 }],
    [15, 60, 30, { points: 30, durationSeconds: 120 }],
    [30, 3600, 30, { points: 30, durationSeconds: 3600 }],
    [1, 300, 30, { points: 30, durationSeconds: 9_000 }],
    [7, 300, 30, { points: 30, durationSeconds: 1_286 }],
    [7_000, 300, 30, { points: 23, durationSeconds: 1 }],
    [1_000_000, 300, 30, { points: 3_333, durationSeconds: 1 }],
    [0.5, 3_600, 1, { points: 1, durationSeconds: 7_200 }],
    [30, 0.3, 30, { points: 100, durationSeconds: 1 }],
    ['off', 300, 30, undefined],
  ] as const)('counts %s per %s s with a burst of %s as %j', (value, period, burst, window) => {
    expect(toWindow(value, period, burst)).toEqual(window)
  })
})

describe('retryAfterSeconds', () => {
  it.each([
    [0, 1],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
  ])('tells a client with %d ms to wait to try again after %d s', (ms, seconds) => {
    expect(retryAfterSeconds(ms)).toBe(seconds)
  })
})

const test = await openTestApp({
  settings: { AUTH_SECURITY_FAILED_ATTEMPTS: '2', AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' },
})
afterAll(() => test.close())

// ASVS 6.3.1
it.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:db8:1:3::1'],
  ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
])(
  'refuses the right password after attempts from %s and %s, and accepts it from %s',
  async (one, other, elsewhere) => {
    const { email, password } = await createSignedUp(test.deps)
    const tryPassword = async (attempt: string, address: string) => {
      const headers = { 'auth-forwarded-for': address }
      const payload = { email, password: attempt }
      return outcomeOf(await test.app.inject({ method: 'POST', url: '/token?grant_type=password', headers, payload }))
    }
    expect([await tryPassword('guess 1', one), await tryPassword('guess 2', other)]).toEqual([
      wrongPassword,
      wrongPassword,
    ])
    expect([await tryPassword(password, one), await tryPassword(password, elsewhere)]).toEqual([wrongPassword, 200])
  },
)
