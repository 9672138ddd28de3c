import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../../../test/audit.ts'
import { refusals, statusAndBody } from '../../../../../test/bodies.ts'
import { callPayouts, debtor, paidOutLiveMerchant } from '../../../../../test/operator-payouts.ts'
import { actorOf, testOperators } from '../../../../../test/operators.ts'
import {
  createTestApp,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

/** Exports one payout. Returns the id of the payout and the exported batch. */
async function exportOne() {
  const { payoutId } = await paidOutLiveMerchant(payments, member, 'EUR')
  const { batch, files } = (await callPayouts(payments, 'POST', '/batches', { payload: debtor })).json()
  return { payoutId, files, id: String(batch.id), path: `/batches/${batch.id}/files` }
}

describe('GET /operator/payouts/batches/:batchId/files', () => {
  it('200: answers the files byte by byte the same, and the audit log says who has them', async () => {
    const { id, path, files } = await exportOne()
    expect(statusAndBody(await callPayouts(payments, 'GET', path))).toEqual([200, { files }])
    const { id: actorId, email } = actorOf('admin')
    const payload = {
      action: 'payouts.export',
      actor: { id: actorId, email },
      key: 'desk-admin',
      role: 'admin',
      address: '127.0.0.1',
      object: { kind: 'batch', id },
    }
    expect(await lastAudit(payments)).toEqual(operatorAudit('operator.payouts.export', payload))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no batch has', async (id) => {
    expect(statusAndBody(await callPayouts(payments, 'GET', `/batches/${id}/files`))).toEqual(refusals.notFound)
  })

  it('409: answers no files once the bank has answered about a payout', async () => {
    const { payoutId, path } = await exportOne()
    await callPayouts(payments, 'POST', `/${payoutId}/outcome`, { payload: { outcome: 'settled' } })
    const message = 'The bank has answered about the batch, or it was changed'
    expect(statusAndBody(await callPayouts(payments, 'GET', path))).toEqual([409, { code: 'CONFLICT', message }])
  })
})
