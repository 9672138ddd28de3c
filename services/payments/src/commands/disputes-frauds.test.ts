import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { fraudsCommand } from './disputes.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, app, { test: true })).id
  transactionId = await customerPayment(payments, merchantId)
})
afterAll(() => payments.close())

const { run, json, readJson } = commandRunner([fraudsCommand], () => operatorDeps(payments))
const get = async (url: string) => (await payments.app.inject({ url, headers: app.headers })).json()

describe('payments frauds', () => {
  it('add: stores an alert, once for each reference', async () => {
    const words = [
      'frauds',
      'add',
      transactionId,
      '--reason',
      '6',
      '--reported',
      '2026-03-01T10:20:30Z',
      '--reference',
      'p',
    ]
    const { id } = await readJson(z.looseObject({ id: z.string() }), ...words)
    expect(await json(...words)).toEqual({
      id,
      transactionId,
      reason: 6,
      reported: '2026-03-01T10:20:30.000Z',
      merchantId,
      created: createdOf(id),
    })
    expect(await get(`/frauds/${id}`)).toEqual({
      fraud: { reason: 6, id, merchantId, transactionId, created: createdOf(id), reported: '2026-03-01T10:20:30.000Z' },
    })
    expect(await lastAudit(payments)).toEqual(operatorAudit('fraud.added', { fraudId: id }, merchantId))
    expect(await json('frauds', 'add', transactionId)).toEqual({
      reason: null,
      reported: null,
      id: anyId,
      merchantId,
      transactionId,
      created: anyTime,
    })
    await expect(run('frauds', 'add', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no transaction ${UNKNOWN_ID}`,
    )
    await expect(run('frauds', 'add', transactionId, '--reason', '9')).rejects.toHaveProperty(
      'message',
      "error: option '--reason <code>' argument '9' is invalid. Allowed choices are 0, 1, 2, 3, 4, 5, 6, 7, 8.",
    )
    await expect(run('frauds', 'add', transactionId, '--reported', 'x')).rejects.toHaveProperty(
      'message',
      '--reported is not an instant of the years 1970 to 9999',
    )
    await expect(run('frauds', 'add', transactionId, '--reported', '9999-12-31T23:59:59-12:00')).rejects.toHaveProperty(
      'message',
      '--reported is not an instant of the years 1970 to 9999',
    )
  })

  it('add: stores an alert with its entry in the audit log, or neither', async () => {
    const paid = await customerPayment(payments, merchantId)
    const alerts = async () =>
      payments.database.db.selectFrom('frauds').select('id').where('transaction_id', '=', paid).execute()
    await withoutAudit(payments, () => expect(run('frauds', 'add', paid)).rejects.toThrow(AUDIT_FULL))
    expect(await alerts()).toEqual([])
    const { id } = await readJson(z.looseObject({ id: z.string() }), 'frauds', 'add', paid)
    expect([await alerts(), await lastAudit(payments)]).toEqual([
      [{ id }],
      operatorAudit('fraud.added', { fraudId: id }, merchantId),
    ])
  })
})
