import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusedField, statusAndBody } from '../../../test/bodies.ts'
import { openWorld, type World } from '../../../test/error-model/world.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import type { TestPayments } from '../../../test/payments-app.ts'

let world: World
let payments: TestPayments
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
  payments = world.payments
})
afterAll(() => payments.close())

const search = (q: string) =>
  payments.app.inject({ url: `/operator/search?q=${encodeURIComponent(q)}`, headers: operatorHeaders('viewer') })

describe('GET /operator/search', () => {
  it('200: finds a transaction by id, four digits and amount, and tells it apart by a line', async () => {
    const { id: merchantId } = world.merchant
    const { transaction: id } = world.ids
    const hit = { kind: 'transaction', id, merchantId, title: 'EUR 1000.00 •••• 0000' }
    for (const q of [id.toUpperCase(), ' 0000 ', '100000']) {
      expect(statusAndBody(await search(q))).toEqual([200, { hits: [hit] }])
    }
  })

  it('200: finds disputes, payouts, merchants and apps by their ids, in any case', async () => {
    const { merchant, ids } = world
    const of = { merchantId: merchant.id }
    const answers = await Promise.all([ids.dispute, ids.payout, merchant.id, ids.app].map(search))
    expect(answers.map((answer) => expectBody(200, answer).hits)).toEqual([
      [{ kind: 'dispute', id: ids.dispute, ...of, title: 'EUR 0.10 Cardholder dispute' }],
      [{ kind: 'payout', id: ids.payout, ...of, title: 'EUR 98.40 settled' }],
      [{ kind: 'merchant', id: merchant.id, title: 'https://example.com' }],
      [{ kind: 'app', id: ids.app, title: expect.stringMatching(/^….{4}$/) }],
    ])
  })

  it('200: finds a merchant by the beginning of its website, and nothing for a text that no object has', async () => {
    const answers = await Promise.all([search('HTTPS://exam'), search('nothing like it')])
    expect(answers.map(statusAndBody)).toEqual([
      [200, { hits: [{ kind: 'merchant', id: world.merchant.id, title: 'https://example.com' }] }],
      [200, { hits: [] }],
    ])
  })

  it('400: refuses an empty search', async () => {
    expect(statusAndBody(await search(''))).toEqual(refusedField('q', 'is required', 'REQUIRED'))
  })
})
