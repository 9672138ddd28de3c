import { createNoopMeter } from '@opentelemetry/api'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { expect, it } from 'vitest'
import type { PaymentOutcome } from '../checkout/checkout-repository.ts'
import { createKeyedLimit, createRefusalLimit } from './card-testing.ts'
import { createRateLimits } from './rate-limits.ts'

const REFUSED: PaymentOutcome = { verdict: 'refused', statusCode: 'PAYMENT_REJECTED_BY_ISSUER' }
const APPROVED: PaymentOutcome = { verdict: 'paid', transactionId: '65a1b2c30000000000000001' }
const GONE: PaymentOutcome = { verdict: 'gone' }
const LIMITED = { code: 'RATE_LIMITED', message: 'Too many requests' }

/** Starts two processes with one store. The store permits three refusals. The test decides when the acquirer answers. */
function start() {
  const limits = createRateLimits(
    {
      requestsPerSecond: 0,
      appsPerMinute: 0,
      failuresPerMinute: 0,
      checkoutsPerSecond: 0,
      refusalsPerTenMinutes: 3,
      mailsPerHour: 0,
      invitationsPerHour: 0,
    },
    memoryStore(),
  )
  const questions: ((outcome: PaymentOutcome) => void)[] = []
  const openProcess = () => {
    const limitRefusals = createRefusalLimit(limits, createNoopMeter())
    return (address = '192.0.2.1') =>
      limitRefusals(address, () => new Promise((resolve) => questions.push(resolve))).catch(({ code, message }) => ({
        code,
        message,
      }))
  }
  return { questions, pay: openProcess(), payElsewhere: openProcess() }
}

const runReadyCallbacks = () => new Promise((resolve) => setImmediate(resolve))

it('tries no more cards at once than may still be refused', async () => {
  const { questions, pay } = start()
  const before = [pay(), pay()]
  await runReadyCallbacks()
  for (const answer of questions.splice(0)) answer(REFUSED)
  expect(await Promise.all(before)).toEqual([REFUSED, REFUSED])
  const atOnce = [pay(), pay(), pay()]
  await runReadyCallbacks()
  expect(questions).toHaveLength(1)
  questions[0]?.(REFUSED)
  expect(await Promise.all(atOnce)).toEqual([REFUSED, LIMITED, LIMITED])
  const other = pay('192.0.2.2')
  await runReadyCallbacks()
  questions[1]?.(APPROVED)
  expect(await other).toEqual(APPROVED)
})

it('lets payments that are sent at once take turns while none is refused', async () => {
  const { questions, pay } = start()
  const payments = Array.from({ length: 8 }, () => pay())
  for (const index of payments.keys()) {
    await expect.poll(() => questions[index]).toBeDefined()
    expect(questions.length).toBeLessThanOrEqual(index + 3)
    questions[index]?.(index === 5 ? GONE : APPROVED)
  }
  expect(await Promise.all(payments)).toEqual(payments.map((_, index) => (index === 5 ? GONE : APPROVED)))
})

it('counts payments that are under way in another process', async () => {
  const { questions, pay, payElsewhere } = start()
  const payments = [pay(), pay(), pay()]
  await runReadyCallbacks()
  expect(await payElsewhere()).toEqual(LIMITED)
  for (const answer of questions) answer(APPROVED)
  await Promise.all(payments)
  const after = payElsewhere()
  await runReadyCallbacks()
  questions[3]?.(APPROVED)
  expect(await after).toEqual(APPROVED)
})

/** Creates work that ends when the test calls `end`. */
function createWork() {
  const started: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const work = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      started.push(name)
      ends.set(name, (error) => (error ? reject(error) : resolve(name)))
    })
  return { started, work, end: (name: string, error?: Error) => ends.get(name)?.(error) }
}

// ASVS 15.2.2
it('runs a limited number of works of one key at once, the rest in order, and works of other keys at the same time', async () => {
  const withSlots = createKeyedLimit(2)
  const { started, work, end } = createWork()
  const results = ['a', 'b', 'c', 'd'].map((name) => withSlots('key', work(name)))
  const other = withSlots('other', work('x'))
  expect(started).toEqual(['a', 'b', 'x'])
  end('b')
  expect(await results[1]).toBe('b')
  expect(started).toEqual(['a', 'b', 'x', 'c'])
  end('a', new Error('lost'))
  await expect(results[0]).rejects.toThrow('lost')
  expect(started).toEqual(['a', 'b', 'x', 'c', 'd'])
  for (const name of ['c', 'd', 'x']) end(name)
  expect(await Promise.all([results[2], results[3], other])).toEqual(['c', 'd', 'x'])
  const again = ['e', 'f', 'g'].map((name) => withSlots('key', work(name)))
  expect(started.slice(5)).toEqual(['e', 'f'])
  for (const name of ['e', 'f']) end(name)
  await Promise.all(again.slice(0, 2))
  end('g')
  expect(await again[2]).toBe('g')
})
