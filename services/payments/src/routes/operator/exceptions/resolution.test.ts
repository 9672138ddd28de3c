import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../../test/audit.ts'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
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
