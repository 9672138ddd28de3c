import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../../test/bodies.ts'
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
    const currencies = table.currencies.map(({ code, exponent }) => ({ code, exponent }))
    expect(statusAndBody(answer)).toEqual([200, { currencies }])
    const some = currencies.filter(({ code }) => ['HRK', 'HUF', 'IQD', 'JPY'].includes(code))
    expect(some.toSorted((a, b) => (a.code < b.code ? -1 : 1))).toEqual([
      { code: 'HRK', exponent: 2 },
      { code: 'HUF', exponent: 2 },
      { code: 'IQD', exponent: 3 },
      { code: 'JPY', exponent: 0 },
    ])
  })
})
