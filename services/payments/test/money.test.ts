import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import table from '../src/money/currencies.json' with { type: 'json' }
import { CHARGEABLE, currencyExponent } from '../src/money/currencies.ts'
import type { Rate } from '../src/money/ecb-rates.ts'
import { rateOfDay } from '../src/money/rates.model.ts'
import { type CapturedAmount, capturedValue, divideHalfEven, exchange } from '../src/transactions/amounts.model.ts'
import { openTestDatabase } from './payments-app.ts'

let opened: Awaited<ReturnType<typeof openTestDatabase>>
let client: pg.Client
let rates: Rate[]
beforeAll(async () => {
  opened = await openTestDatabase()
  // All values are text as PostgreSQL writes them, so no figure passes through a JavaScript number.
  client = new pg.Client({ connectionString: opened.url, types: { getTypeParser: () => String } })
  await client.connect()
  await client.query(`
    INSERT INTO payments.fx_rates VALUES
      ('2024-02-01', 'USD', 'ecb', 1.0812), ('2024-03-01', 'USD', 'ecb', 1.0834), ('2024-03-04', 'DKK', 'ecb', 7.4541),
      ('2024-03-04', 'JPY', 'ecb', 163.15), ('2024-03-04', 'DKK', 'embedded', 7.5)`)
  const { rows } = await client.query<Rate>('SELECT date, currency, source, rate FROM payments.fx_rates')
  rates = rows
})
afterAll(async () => {
  await client.end()
  await opened.close()
})

/** Calls a function once for each input, and answers the rows in that order. `columns` names and types the fields. */
async function callEach<Row>(call: string, columns: string, inputs: readonly object[]): Promise<Row[]> {
  const text = JSON.stringify(inputs, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
  const { rows } = await client.query<Row & pg.QueryResultRow>(
    `SELECT f.* FROM ROWS FROM (jsonb_to_recordset($1) AS (${columns})) WITH ORDINALITY i
     LEFT JOIN LATERAL payments.${call} AS f ON true ORDER BY ordinality`,
    [text],
  )
  return rows
}

/** Calls a function and its model with the same inputs, a hundred in a call. */
async function expectAgreement<Input extends object>(
  input: fc.Arbitrary<Input>,
  call: (inputs: readonly Input[]) => Promise<unknown[]>,
  model: (input: Input) => unknown,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(input, { minLength: 100, maxLength: 100 }), async (inputs) => {
      expect(await call(inputs)).toEqual(inputs.map(model))
    }),
    { numRuns: 30 },
  )
}

const amount = fc.bigInt({ min: 1n, max: 999_999_999_999n })
const charged = CHARGEABLE
const days = ['2023-12-31', '2024-01-02', '2024-02-15', '2024-02-29', '2024-03-01', '2024-03-04', '2026-01-01']
const day = fc.constantFrom(...days)

describe('currency_exponent', () => {
  it('knows every listed currency and no other text', async () => {
    const codes = [...table.currencies.map(({ code }) => code), 'XXX', 'eur', '']
    const inputs = codes.map((code) => ({ code }))
    const rows = await callEach<{ f: string | null }>('currency_exponent(code)', 'code text', inputs)
    expect(rows.map(({ f }) => f)).toEqual(codes.map((code) => currencyExponent(code)?.toString() ?? null))
  })
})

describe('round_half_even', () => {
  const call = async (inputs: readonly object[]) =>
    (await callEach<{ f: string }>('round_half_even(n, d)', 'n numeric, d numeric', inputs)).map(({ f }) => BigInt(f))

  it.each([
    [0n, 1n, 0n],
    [1n, 2n, 0n],
    [3n, 2n, 2n],
    [5n, 2n, 2n],
    [7n, 2n, 4n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [499_999n, 1_000_000n, 0n],
    [500_001n, 1_000_000n, 1n],
  ])('rounds %s/%s to %s, a half to the even neighbour', async (n, d, expected) => {
    expect(divideHalfEven(n, d)).toBe(expected)
    expect(await call([{ n, d }])).toEqual([expected])
  })

  it('agrees with its model for any input', async () => {
    const half = fc.tuple(amount, fc.bigInt({ min: 1n, max: 10n ** 6n })).map(([q, d]) => ({ n: q * d + d / 2n, d }))
    const any = fc.record({
      n: fc.bigInt({ min: 0n, max: 10n ** 24n }),
      d: fc.bigInt({ min: 10n ** 7n, max: 10n ** 12n }),
    })
    await expectAgreement(fc.oneof(half, any), call, ({ n, d }) => divideHalfEven(n, d))
  })
})

const fxRate = (inputs: readonly object[]) => callEach('fx_rate(currency, day)', 'currency text, day date', inputs)

describe('fx_rate', () => {
  it('takes the latest date until the day, the first before it, and imported rates before embedded ones', async () => {
    const cases = [
      ['USD', '2024-02-01', '1.0812000000', '2024-02-01'],
      ['USD', '2024-02-29', '1.0812000000', '2024-02-01'],
      ['USD', '2024-03-01', '1.0834000000', '2024-03-01'],
      ['DKK', '2024-03-04', '7.4541000000', '2024-03-04'],
      ['DKK', '2020-01-01', '7.4600000000', '2024-01-02'],
      ['EUR', '2024-03-05', '1', '2024-03-05'],
      ['BGN', '2025-12-31', '1.9558000000', '2024-03-01'],
      ['BGN', '2026-11-29', '1.95583', '2026-11-29'],
      ['HRK', '2023-01-01', '7.53450', '2023-01-01'],
    ]
    const first = rates.find((rate) => rate.currency === 'DKK' && rate.date === '2024-01-02')?.rate
    expect(await fxRate(cases.map(([currency, on]) => ({ currency, day: on })))).toEqual(
      cases.map(([, , rate, date]) => ({ rate: date === '2024-01-02' ? first : rate, date })),
    )
  })

  it('agrees with its model, also for a currency without any rate', async () => {
    const inputs = fc.record({ currency: fc.constantFrom(...charged, 'BGN', 'HRK', 'VES', 'XXX'), day })
    const model = (input: { currency: string; day: string }) => {
      const { rate = null, date = null } = rateOfDay(rates, input.currency, input.day) ?? {}
      return { rate, date }
    }
    await expectAgreement(inputs, fxRate, model)
  })
})

interface Exchanged {
  readonly sold: bigint
  readonly from: string
  readonly to: string
  readonly day: string
  readonly margin: number
}

const callExchange = (inputs: readonly Exchanged[]) =>
  callEach(
    'exchange(sold, "from", "to", day, margin)',
    'sold bigint, "from" text, "to" text, day date, margin int',
    inputs,
  )

function modelExchange({ sold, from, to, day: on, margin }: Exchanged) {
  if (from === to) return { amount: String(sold), rate: null, rate_date: null }
  const [paid, got] = [from, to].map((code) => ({ code, ...(rateOfDay(rates, code, on) ?? { rate: '', date: '' }) }))
  if (!paid?.rate || !got?.rate) return { amount: null, rate: null, rate_date: null }
  const quote = ({ code, rate }: { code: string; rate: string }) => ({ exponent: currencyExponent(code) ?? -1, rate })
  const result = exchange({ amount: sold, from: quote(paid), to: quote(got), marginBasisPoints: BigInt(margin) })
  const [older] = [paid.date, got.date].sort()
  return { amount: String(result.amount), rate: result.rate, rate_date: older }
}

describe('exchange', () => {
  it.each([
    ['EUR', 1_000n, 'DKK', 7_456n],
    ['USD', 995n, 'DKK', 6_856n],
    ['JPY', 1_000n, 'EUR', 617n],
    ['KWD', 1_234n, 'EUR', 366n],
    ['JPY', 1n, 'EUR', 1n],
    ['IDR', 1n, 'EUR', 0n],
    ['USD', 333n, 'DKK', 2_295n],
    ['USD', 334n, 'DKK', 2_302n],
  ])('%s %s is %s %s at the embedded rates', async (from, sold, to, expected) => {
    const input = { sold, from, to, day: '2024-03-01', margin: 0 }
    await client.query("BEGIN; DELETE FROM payments.fx_rates WHERE source = 'ecb'")
    const [row] = await callExchange([input])
    await client.query('ROLLBACK')
    expect(row).toEqual({ amount: String(expected), rate_date: '2024-03-01', rate: expect.any(String) })
  })

  it('agrees with its model, between any two currencies, on any day, with any margin', async () => {
    const code = fc.constantFrom(...charged, 'EUR', 'DKK', 'BGN', 'VES')
    const margin = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10_000 }))
    const inputs = fc.record({ sold: amount, from: code, to: code, day, margin })
    await expectAgreement(inputs, callExchange, modelExchange)
  })
})

describe('flat_fee', () => {
  const pricing = { rate: 135, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'EUR', amount: 2_500 } }
  const call = (kind: string, currency: string, fees: object = {}) =>
    callEach("flat_fee(kind, pricing, currency, '2024-03-01')", 'kind text, pricing jsonb, currency text', [
      { kind, pricing: { ...pricing, ...fees }, currency },
    ])

  it.each([
    ['capture', 'DKK', '186'],
    ['capture', 'EUR', '25'],
    ['refund', 'DKK', '0'],
    ['dispute', 'EUR', '2500'],
  ])('a %s in %s costs %s', async (kind, currency, expected) => {
    expect(await call(kind, currency)).toEqual([{ amount: expected }])
  })

  it('charges the flat fee of a refund where a merchant has one', async () => {
    expect(await call('refund', 'EUR', { refund: { currency: 'EUR', amount: 10 } })).toEqual([{ amount: '10' }])
  })

  it('answers no flat fee when its currency has no rate', async () => {
    expect(await call('capture', 'EUR', { flat: { currency: 'VES', amount: 10 } })).toEqual([{ amount: null }])
  })
})

describe('captured_value', () => {
  interface Reversal {
    readonly amounts: readonly bigint[]
    readonly grosses: readonly bigint[]
    readonly covered: bigint
  }
  const call = async (inputs: readonly Reversal[]) => {
    const columns = 'amounts bigint[], grosses bigint[], covered bigint'
    const rows = await callEach<{ f: string }>('captured_value(amounts, grosses, covered)', columns, inputs)
    return rows.map(({ f }) => BigInt(f))
  }
  const zip = ({ amounts, grosses }: Reversal): CapturedAmount[] =>
    amounts.map((each, i) => ({ amount: each, gross: grosses[i] ?? 0n }))

  it('returns the worth of the covered amount, oldest capture first', async () => {
    const captures = { amounts: [333n, 333n, 334n], grosses: [2_295n, 2_295n, 2_302n] }
    const values = await call([0n, 100n, 500n, 1_000n].map((covered) => ({ ...captures, covered })))
    expect(values).toEqual([0n, 689n, 3_446n, 6_892n])
    expect(values.slice(1).map((value, i) => value - (values[i] ?? 0n))).toEqual([689n, 2_757n, 3_446n])
  })

  it('is 0 without a capture', async () => {
    expect(await call([{ amounts: [], grosses: [], covered: 0n }])).toEqual([0n])
  })

  it('agrees with its model for any input', async () => {
    const capture = fc.record({ amount, gross: fc.bigInt({ min: 0n, max: 10n ** 15n }) })
    const input = fc
      .tuple(fc.array(capture, { minLength: 1, maxLength: 6 }), fc.nat(1_000))
      .map(([captures, share]): Reversal => {
        const amounts = captures.map((each) => each.amount)
        const total = amounts.reduce((sum, each) => sum + each, 0n)
        return { amounts, grosses: captures.map(({ gross }) => gross), covered: (total * BigInt(share)) / 1_000n }
      })
    await expectAgreement(input, call, (each) => capturedValue(zip(each), each.covered))
  })
})
