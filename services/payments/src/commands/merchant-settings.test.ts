import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { merchantJson, shownMerchant } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { createStubAcquirer } from '../../test/stub-acquirer.ts'
import { merchantsCommand } from './merchants.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['nordic-1', createStubAcquirer()]]) })
})
afterAll(() => payments.close())

const { run } = commandRunner([merchantsCommand], () => operatorDeps(payments))

describe('payments merchants', () => {
  const claim = { canChargeCard: true, canSaveCard: true, canCapture: true, canRefund: true, canVoid: true }

  it('pricing, claim, tds, acquirer: change only what was named, write an event and add to the audit log', async () => {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    const shown = async () =>
      (await payments.app.inject({ url: `/merchants/${id}`, headers: app.headers })).json().merchant
    await run('merchants', 'pricing', id, '--rate', '90', '--dispute', 'DKK:10000')
    await run('merchants', 'claim', id, 'canRefund=no', 'canVoid=no')
    await run('merchants', 'claim', id, 'canVoid=yes')
    await run('merchants', 'tds', id, 'full')
    const [line = ''] = await run('merchants', 'acquirer', id, 'nordic-1', '--json')
    const pricing = { rate: 90, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'DKK', amount: 10000 } }
    const changed = { ...claim, canTransferToCard: false, canRefund: false }
    expect(JSON.parse(line)).toEqual({ id, claim: changed, pricing, tdsMode: 'full', acquirer: 'nordic-1' })
    expect(await shown()).toEqual(
      shownMerchant({ id, created: createdOf(id), claim: changed, pricing, tds: { mode: 'full' } }),
    )
    expect(JSON.parse((await run('merchants', 'acquirer', id, 'none', '--json'))[0] ?? '')).toEqual({
      acquirer: null,
      id,
      claim: {
        canVoid: true,
        canRefund: false,
        canCapture: true,
        canSaveCard: true,
        canChargeCard: true,
        canTransferToCard: false,
      },
      pricing: { flat: { amount: 25, currency: 'EUR' }, rate: 90, dispute: { amount: 10_000, currency: 'DKK' } },
      tdsMode: 'full',
    })
    const { db } = payments.database
    const events = await db.selectFrom('events').selectAll().where('merchant_id', '=', id).orderBy('id').execute()
    expect(events.map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'merchant.updated'))
    expect(events[0]?.data).toEqual(merchantJson({ id, balance: 0, pricing, tds_mode: 'attempt' }))
    const audit = await db.selectFrom('audit').selectAll().where('merchant_id', '=', id).orderBy('id').execute()
    expect(audit[1]).toEqual({
      action: 'merchant.changed',
      identity_id: null,
      payload: { pricing: { rate: 90, dispute: { currency: 'DKK', amount: 10000 } } },
      merchant_id: id,
      id: anyId,
      created: expect.any(Date),
    })
  })

  it('acquirer: refuses a test merchant and an unknown name, and leaves the merchant as it is', async () => {
    const app = await createTestApp(payments)
    const test = await createTestMerchant(payments, app, { test: true })
    const live = await createTestMerchant(payments, app)
    await run('merchants', 'acquirer', live.id, 'nordic-1')
    await expect(run('merchants', 'acquirer', test.id, 'nordic-1')).rejects.toHaveProperty(
      'message',
      'a test merchant has the simulator',
    )
    await expect(run('merchants', 'acquirer', live.id, 'nordic')).rejects.toHaveProperty(
      'message',
      'PAYMENTS_ACQUIRERS has no acquirer nordic',
    )
    const stored = await payments.database.db
      .selectFrom('merchants')
      .select(['id', 'acquirer'])
      .where('id', 'in', [test.id, live.id])
      .orderBy('id')
      .execute()
    expect(stored).toEqual([
      { id: test.id, acquirer: null },
      { id: live.id, acquirer: 'nordic-1' },
    ])
  })

  it('pricing: the new fees are charged from then on', async () => {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    const transaction = await customerPayment(payments, id, { currency: 'EUR', amount: 1_000 })
    await run('merchants', 'pricing', id, '--rate', '100', '--flat', 'EUR:7', '--refund', 'EUR:10')
    const feeOf = async (operation: string) => {
      const url = `/transactions/${transaction}/${operation}`
      const response = await payments.app.inject({
        method: 'POST',
        url,
        headers: app.headers,
        payload: { amount: 500 },
      })
      return response.json().transaction.trail.at(-1)?.fee
    }
    expect([await feeOf('captures'), await feeOf('refunds')]).toEqual([
      { flat: 7, rate: 5 },
      { flat: 10, rate: 0 },
    ])
  })

  it.each([
    [['pricing', '--rate', '10001'], '--rate is 0 to 10000 basis points'],
    [['pricing', '--rate', '1.5'], '--rate is 0 to 10000 basis points'],
    [['pricing', '--flat', 'EUR'], '--flat is a currency and minor units, such as EUR:25'],
    [['pricing', '--refund', 'XXX:1'], '--refund is a currency and minor units, such as EUR:25'],
    [['claim', 'canFly=yes'], 'canFly=yes is not a permission, such as canRefund=no'],
    [['claim', 'canTransferToCard=yes'], 'canTransferToCard=yes is not a permission, such as canRefund=no'],
    [['claim', 'canVoid=maybe'], 'canVoid=maybe is not a permission, such as canRefund=no'],
    [['claim', 'canVoid=no', 'canVoid=yes'], 'canVoid is given twice'],
    [['tds', 'none'], "error: argument 'mode' is invalid. Allowed choices are attempt, full."],
    [['acquirer', 'nordic-2'], 'PAYMENTS_ACQUIRERS has no acquirer nordic-2'],
    [['acquirer', 'simulator'], 'PAYMENTS_ACQUIRERS has no acquirer simulator'],
    [['acquirer', 'Nordic-1'], 'PAYMENTS_ACQUIRERS has no acquirer Nordic-1'],
    [['acquirer', 'nordic-1'], `there is no merchant ${UNKNOWN_ID}`],
    [['acquirer', 'none'], `there is no merchant ${UNKNOWN_ID}`],
    [['tds', 'full'], `there is no merchant ${UNKNOWN_ID}`],
    [['bank', 'DE03 5001 0517 5407 3204 31'], `there is no merchant ${UNKNOWN_ID}`],
    [['bank', 'DE04 5001 0517 5407 3204 31'], 'the account must be an IBAN'],
    [['tds', '5001 0517 5407 3204'], "error: argument 'mode' is invalid. Allowed choices are attempt, full."],
    [['acquirer', '5001 0517 5407 3204'], 'card numbers are not taken'],
  ])('fails on %j', async ([word = '', ...rest], message) => {
    await expect(run('merchants', word, UNKNOWN_ID, ...rest)).rejects.toHaveProperty('message', message)
  })
})
