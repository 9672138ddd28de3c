import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAttempt } from '../../../../test/attempts.ts'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../../../test/stub-acquirer.ts'

let payments: TestPayments
let north: StubAcquirer
let merchantId: string
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ operators: testOperators, acquirers: new Map([['north', north]]) })
  merchantId = (await createTestMerchant(payments, await createTestApp(payments))).id
})
afterAll(() => payments.close())

const attempt = (state: 'unknown' | 'approved' | 'declined') =>
  insertAttempt(payments, { merchantId, state, acquirer: 'north' })
const resolve = (id: string, payload: object, key = String(randomUUID())) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/attempts/${id}/outcome`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload,
  })
const shown = (id: string, state: string) => ({
  id,
  merchantId,
  created: expect.any(String),
  amount: 500,
  currency: 'EUR',
  acquirer: 'north',
  state,
})

describe('POST /operator/attempts/:attemptId/outcome', () => {
  it('201: has the acquirer take back what it has approved, once for each key', async () => {
    const id = await attempt('unknown')
    const first = await resolve(id, { outcome: 'approved' }, 'approved')
    const again = await resolve(id, { outcome: 'approved' }, 'approved')
    expect([first.statusCode, first.json(), again.body, again.headers['idempotent-replayed']]).toEqual([
      201,
      { attempt: shown(id, 'reversed') },
      first.body,
      'true',
    ])
    expect(north.received.givenBack.filter((other) => other === id)).toEqual([id])
  })

  it('201: records that it was declined, without the acquirer', async () => {
    const id = await attempt('unknown')
    expect(statusAndBody(await resolve(id, { outcome: 'declined' }))).toEqual([201, { attempt: shown(id, 'declined') }])
  })

  it('400: refuses an unknown outcome', async () => {
    const answer = await resolve(await attempt('unknown'), {})
    expect(statusAndBody(answer)).toEqual(refusedField('outcome', 'is required', 'REQUIRED'))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no attempt has', async (id) => {
    expect(statusAndBody(await resolve(id, { outcome: 'declined' }))).toEqual(refusals.notFound)
  })

  it('409: refuses an attempt whose outcome is known', async () => {
    const answer = await resolve(await attempt('approved'), { outcome: 'declined' })
    const body = { code: 'CONFLICT', message: 'The outcome of the attempt is known' }
    expect([...statusAndBody(answer), answer.headers['retry-after']]).toEqual([409, body, undefined])
  })

  it('409: keeps an attempt that the acquirer does not take back, and adds an exception for operators', async () => {
    const id = await attempt('unknown')
    const { reverse } = north.answers
    north.answers.reverse = async () => ({ verdict: 'rejected', reason: 'settled' })
    const answer = await resolve(id, { outcome: 'approved' })
    north.answers.reverse = reverse
    const open = await payments.app.inject({ url: '/operator/exceptions', headers: operatorHeaders('viewer') })
    const [exception] = open.json().exceptions
    const body = { code: 'CONFLICT', message: 'The acquirer did not take the reversal' }
    expect([...statusAndBody(answer), exception.kind, exception.payload.attemptId]).toEqual([409, body, 'reversal', id])
    const waiting = await payments.app.inject({ url: '/operator/attempts?limit=1', headers: operatorHeaders('viewer') })
    expect(statusAndBody(waiting)).toEqual([200, { attempts: [shown(id, 'unknown')] }])
  })
})
