import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
})
afterAll(() => payments.close())

describe('GET /operator/reasons', () => {
  it('200: lists the reasons of the reference, the default of disputes first', async () => {
    const answer = await payments.app.inject({ url: '/operator/reasons', headers: operatorHeaders('viewer') })
    expect(statusAndBody(answer)).toEqual([
      200,
      {
        disputes: [
          { code: 4853, title: 'Cardholder dispute' },
          { code: 104, title: 'Fraud, card absent' },
          { code: 131, title: 'Not received' },
          { code: 133, title: 'Not as described' },
          { code: 136, title: 'Credit not processed' },
          { code: 137, title: 'Cancelled' },
          { code: 4808, title: 'Authorization missing' },
          { code: 4834, title: 'Processing error' },
          { code: 4837, title: 'No cardholder authorization' },
        ],
        frauds: [
          { code: 0, title: 'Misc' },
          { code: 1, title: 'Fraudulent usage' },
          { code: 2, title: 'Fraudulent application' },
          { code: 3, title: 'Counterfeit' },
          { code: 4, title: 'Account takeover' },
          { code: 5, title: 'Card not delivered' },
          { code: 6, title: 'Card stolen' },
          { code: 7, title: 'Card lost' },
          { code: 8, title: 'Cardholder manipulated' },
        ],
      },
    ])
  })
})
