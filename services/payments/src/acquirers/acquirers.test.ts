import { createNoopMeter, type Meter } from '@opentelemetry/api'
import { expect, it } from 'vitest'
import { completeScenario } from '../cards/scenario.ts'
import type { Acquirer, AuthorizationRequest } from './acquirer.ts'
import { createAcquirers } from './acquirers.ts'

const request: AuthorizationRequest = {
  idempotencyRef: 'a'.repeat(24),
  merchantId: 'b'.repeat(24),
  money: { currency: 'EUR', amount: 1 },
  descriptor: 'x',
  initiator: 'merchant',
  planned: false,
  networkRef: null,
  scenario: completeScenario({}),
  card: { number: () => '4242424242424242', code: null, expiry: '2066-08-31', scheme: 'visa' },
}
const approved = { verdict: 'approved', ref: 'r', networkRef: null } as const
const unknown = { verdict: 'unknown' }

function withAcquirer(authorize: Acquirer['authorize'], wait: (ms: number, signal?: AbortSignal) => Promise<void>) {
  const unused = () => Promise.reject(new Error('not asked'))
  const port = {
    authorize,
    inquire: unused,
    reverse: unused,
    submit: unused,
    events: unused,
    acknowledge: unused,
  }
  const warned: object[] = []
  const logger = { warn: (fields: object) => void warned.push(fields) }
  const others = new Map([['north', port]])
  return {
    port,
    warned,
    acquirers: createAcquirers({ simulator: port, others, wait, logger, meter: createNoopMeter() }),
  }
}

const quiet = { wait: () => never, logger: { warn: () => {} } }
const never = new Promise<never>(() => {})

it('returns the answer of the acquirer, and aborts the wait', async () => {
  const signals: (AbortSignal | undefined)[] = []
  const { acquirers } = withAcquirer(
    async () => approved,
    (ms, signal) => {
      expect(ms).toBe(10_000)
      signals.push(signal)
      return never
    },
  )
  expect(await acquirers.authorize('north', request)).toEqual(approved)
  expect(await acquirers.authorize(null, request)).toEqual(approved)
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  expect(acquirers.names).toEqual(['north'])
})

it('measures every call, also a failed one', async () => {
  const recorded: unknown[] = []
  const meter: Meter = Object.assign(Object.create(createNoopMeter()), {
    createHistogram: () => ({ record: (seconds: number, labels: object) => recorded.push([seconds >= 0, labels]) }),
  })
  const { port } = withAcquirer(
    async () => approved,
    () => never,
  )
  const acquirers = createAcquirers({ simulator: port, others: new Map([['north', port]]), meter, ...quiet })
  await acquirers.authorize(null, request)
  await expect(acquirers.find('north')?.inquire('x')).rejects.toThrow('not asked')
  expect(recorded).toEqual([
    [true, { acquirer: 'simulator', call: 'authorize' }],
    [true, { acquirer: 'north', call: 'inquire' }],
  ])
})

// ASVS 16.5.2
it('returns unknown without an answer in time, after an error, and for an unknown acquirer', async () => {
  const silent = withAcquirer(
    () => never,
    async () => {},
  )
  expect(await silent.acquirers.authorize('north', request)).toEqual(unknown)
  const broken = withAcquirer(
    () => Promise.reject(new Error('reset')),
    () => never,
  )
  expect(await broken.acquirers.authorize('north', request)).toEqual(unknown)
  expect(await broken.acquirers.authorize('south', request)).toEqual(unknown)
  expect(broken.warned).toEqual([
    { acquirer: 'north', attempt_id: request.idempotencyRef, err: new Error('reset') },
    {
      acquirer: 'south',
      attempt_id: request.idempotencyRef,
      err: new Error('acquirer south is not configured'),
    },
  ])
})
