import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../../test/audit.ts'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { settle } from '../../../../test/live-merchant.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'
import { callAddException } from '../../../acquirers/exception-repository.ts'

let payments: TestPayments
let merchantId: string
let otherId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  const member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member)).id
  otherId = (await createTestMerchant(payments, member)).id
  for (const owner of [merchantId, otherId]) {
    const payload = { type: 'operation', acquirer: 'north', reason: 'late' }
    await callAddException(payments.service.db, { merchantId: owner, reference: `reference of ${owner}`, payload })
  }
})
afterAll(() => payments.close())

const list = async (query: string) => {
  const url = `/operator/exceptions?${query}`
  return (await payments.app.inject({ url, headers: operatorHeaders('viewer') })).json().exceptions
}
const resolve = (owner: string, id: string, payload: object, key: string) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/exceptions/${owner}/${id}/resolution`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload,
  })

describe('POST /operator/exceptions/:merchantId/:exceptionId/resolution', () => {
  it('201: an exception is resolved once, also by two changes, and the note stays in the audit log', async () => {
    const [exception] = await list(`merchant=${merchantId}`)
    const first = await resolve(merchantId, exception.id, { note: 'adjusted' }, 'first')
    const logged = await lastAudit(payments)
    const second = await resolve(merchantId, exception.id, {}, 'second')
    const { resolved } = first.json().exception
    expect([first.statusCode, first.json(), second.json()]).toEqual([
      201,
      { exception: { ...exception, resolved } },
      { exception: { ...exception, resolved } },
    ])
    expect([await list(`merchant=${merchantId}`), await list('open=false')]).toEqual([[], [first.json().exception]])
    const { id: actorId, email } = actorOf('admin')
    const payload = {
      action: 'exceptions.resolve',
      actor: { id: actorId, email },
      key: 'desk-admin',
      role: 'admin',
      address: '127.0.0.1',
      object: { kind: 'exception', id: exception.id },
      idempotencyKey: storedKey('first'),
      changes: { note: 'adjusted' },
    }
    expect(logged).toEqual(operatorAudit('operator.exceptions.resolve', payload, merchantId))
  })

  it('201: an exception says what payouts held back for it until it was resolved', async () => {
    const { db } = payments.service
    await settle(payments.database.db, otherId, { acquirer: 'north' })
    const payload = { type: 'dispute.opened', acquirer: 'north' }
    const disputes = { some: { amount: 4_000 }, all: { amount: 1, currency: 'XXX' } }
    for (const [reference, disputed] of Object.entries(disputes))
      await callAddException(db, { merchantId: otherId, reference, payload, disputed })
    const held = (await list(`merchant=${otherId}&order=asc`)).filter(
      ({ kind }: { kind: string }) => kind !== 'operation',
    )
    expect(held).toEqual(
      [{ currency: 'DKK', amount: 4_000 }, { currency: 'DKK' }].map((heldBack) => ({
        merchantId: otherId,
        id: anyId,
        created: anyTime,
        acquirer: 'north',
        kind: 'dispute.opened',
        payload,
        heldBack,
      })),
    )
    for (const exception of held) {
      const answer = await resolve(otherId, exception.id, {}, exception.id)
      expect(statusAndBody(answer)).toEqual([201, { exception: { ...exception, resolved: anyTime } }])
    }
  })

  it('400: refuses a note of more than 1000 characters', async () => {
    const answer = await resolve(merchantId, UNKNOWN_ID, { note: 'x'.repeat(1_001) }, 'long')
    expect(statusAndBody(answer)).toEqual(refusedField('note', 'must be at most 1000 characters', 'RANGE'))
  })

  it('404: refuses an exception that this merchant does not have', async () => {
    const [exception] = await list(`merchant=${otherId}`)
    const answers = [await resolve(merchantId, exception.id, {}, 'theirs'), await resolve('x', UNKNOWN_ID, {}, 'none')]
    expect(answers.map(statusAndBody)).toEqual([refusals.notFound, refusals.notFound])
  })
})
