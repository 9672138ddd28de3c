import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import table from '../../money/currencies.json' with { type: 'json' }

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
})
afterAll(() => payments.close())

describe('GET /operator/currencies', () => {
  it('200: lists every currency with its decimals, also those that new payments may not be in', async () => {
    const answer = await payments.app.inject({ url: '/operator/currencies', headers: operatorHeaders('viewer') })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({ currencies: table.currencies.map(({ code, exponent }) => ({ code, exponent })) })
    expect(answer.json().currencies).toEqual(
      expect.arrayContaining([
        { code: 'HUF', exponent: 2 },
        { code: 'HRK', exponent: 2 },
        { code: 'IQD', exponent: 3 },
        { code: 'JPY', exponent: 0 },
      ]),
    )
  })
})
