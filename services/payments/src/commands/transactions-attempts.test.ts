import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestPayments,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { createStubAcquirer } from '../../test/stub-acquirer.ts'
import { processingError } from '../transactions/processing-error.ts'
import { attemptsCommand } from './transactions.ts'

const north = createStubAcquirer()
let payments: TestPayments
let merchantId: string
/** An attempt whose answer from the acquirer was lost. */
let unknownAttempt: () => Promise<string>
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  const { headers, ...app } = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, { ...app, headers }, { currency: 'EUR' })).id
  await db().updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchantId).execute()
  const transactionId = await customerPayment(payments, merchantId, { number: '4242424242424242' })
  north.received.authorizations.length = 0
  unknownAttempt = async () => {
    north.answers.authorize = () => Promise.reject(new Error('reset'))
    const payload = { transactionId, currency: 'EUR', amount: 500 }
    const charged = await payments.app.inject({
      method: 'POST',
      url: `/merchants/${merchantId}/transactions`,
      headers,
      payload,
    })
    expect(statusAndBody(charged)).toEqual([400, processingError(12)])
    const [request] = north.received.authorizations.splice(0)
    return request?.idempotencyRef ?? ''
  }
})
afterAll(() => payments.close())
beforeEach(() => {
  north.answers.reverse = async () => ({ verdict: 'accepted' })
})

const db = () => payments.database.db
const { run, json, readJson } = commandRunner([attemptsCommand], () => operatorDeps(payments))
const stateOf = async (id: string) =>
  (await db().selectFrom('attempts').select('state').where('id', '=', id).executeTakeFirst())?.state

it('payments attempts: lists and resolves, gives back an approval and stores a refusal, each once', async () => {
  const [approved, refused] = [await unknownAttempt(), await unknownAttempt()]
  const shown = (id: string) => ({
    merchantId,
    id,
    kind: 'charge',
    state: 'unknown',
    acquirer: 'north',
    currency: 'EUR',
    amount: 500,
    created: anyTime,
  })
  const listed = await readJson(z.array(z.looseObject({ id: z.string() })), 'attempts', 'list')
  expect(listed.filter(({ id }) => id === approved || id === refused)).toEqual([shown(approved), shown(refused)])
  expect(await json('attempts', 'resolve', approved, 'approved')).toEqual({ id: approved, state: 'reversed' })
  const givenBack = north.received.givenBack.filter((id) => id === approved || id === refused)
  expect([await stateOf(approved), givenBack]).toEqual(['reversed', [approved]])
  expect(await lastAudit(payments)).toEqual(
    operatorAudit('attempt.resolved', { attemptId: approved, state: 'reversed' }, merchantId),
  )
  await run('attempts', 'resolve', refused, 'declined')
  expect(await stateOf(refused)).toBe('declined')
  await expect(run('attempts', 'resolve', refused, 'approved')).rejects.toThrow(
    `there is no attempt ${refused} of unknown outcome`,
  )
  await expect(run('attempts', 'resolve', refused, 'lost')).rejects.toHaveProperty(
    'message',
    "error: argument 'outcome' is invalid. Allowed choices are approved, declined.",
  )
})

it('payments attempts resolve: an attempt stays unknown when the acquirer does not take it back', async () => {
  const id = await unknownAttempt()
  north.answers.reverse = async () => ({ verdict: 'rejected', reason: 'never heard of it' })
  await expect(run('attempts', 'resolve', id, 'approved')).rejects.toThrow('the acquirer did not take the reversal')
  expect(await stateOf(id)).toBe('unknown')
  const exceptions = await db().selectFrom('acquirer_exceptions').select('payload').execute()
  const exception = { type: 'reversal', attemptId: id, kind: 'charge', amount: 500, currency: 'EUR' }
  expect(exceptions).toEqual([{ payload: { ...exception, reason: 'never heard of it' } }])
})

it.each([
  ['approved', 'reversed'],
  ['declined', 'declined'],
])('payments attempts resolve %s: is made with its entry in the audit log, or not at all', async (outcome, state) => {
  const id = await unknownAttempt()
  await withoutAudit(payments, () => expect(run('attempts', 'resolve', id, outcome)).rejects.toThrow(AUDIT_FULL))
  expect(await stateOf(id)).toBe('unknown')
  await run('attempts', 'resolve', id, outcome)
  expect([await stateOf(id), await lastAudit(payments)]).toEqual([
    state,
    operatorAudit('attempt.resolved', { attemptId: id, state }, merchantId),
  ])
})
