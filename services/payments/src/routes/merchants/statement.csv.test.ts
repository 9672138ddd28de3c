import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true, currency: 'EUR' })).id
})
afterAll(() => payments.close())

const DAY_MS = 86_400_000
const day = (offset = 0) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10)
const statement = (query: string, headers: object = member.headers, id = merchantId) =>
  payments.app.inject({ url: `/merchants/${id}/statement.csv?${query}`, headers: { ...headers } })
const rowsOf = (body: string) => body.split('\r\n').map((row) => row.split(','))

describe('GET /merchants/:merchantId/statement.csv', () => {
  it('200: writes the lines of a period between the balances before and after it', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'EUR', amount: 10_000 })
    for (const operation of ['captures', 'refunds']) {
      const url = `/transactions/${id}/${operation}`
      await payments.app.inject({ method: 'POST', url, headers: member.headers, payload: { amount: 1_000 } })
    }
    const [from, to] = [day(-1), day(1)]
    const response = await statement(`from=${from}&to=${to}`)
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
    expect(response.headers['content-disposition']).toBe(
      `attachment; filename="statement-${merchantId}-${from}-${to}.csv"`,
    )
    const [header, opening, capture, refund, closing, end] = rowsOf(response.body)
    expect(header).toHaveLength(11)
    expect(opening).toEqual([`${from}T00:00:00.000Z`, '', 'opening balance', '', '', '', '', '', '', '0.00', 'EUR'])
    const ofLine = [expect.stringMatching(/Z$/), expect.stringMatching(/^[0-9a-f]{24}$/)]
    expect(capture).toEqual([...ofLine, 'capture', `Capture ${id}`, id, 'EUR', '10.00', '0.39', '9.61', '9.61', 'EUR'])
    expect(refund).toEqual([...ofLine, 'refund', `Refund ${id}`, id, 'EUR', '10.00', '0.00', '-10.00', '-0.39', 'EUR'])
    expect(closing?.slice(2, 3)).toEqual(['closing balance'])
    expect(closing?.at(-2)).toBe('-0.39')
    expect(end).toEqual([''])
    const later = rowsOf((await statement(`from=${day(1)}&to=${day(2)}`)).body)
    expect(later.slice(1, 3).map((row) => [row[2], row[9]])).toEqual([
      ['opening balance', '-0.39'],
      ['closing balance', '-0.39'],
    ])
  })

  it('200: writes each line once, also beyond one page', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true, currency: 'EUR' })
    await sql`
      SELECT count(*) FROM ${sql.table('post')}(ARRAY(
        SELECT ROW(${id}, 'adjustment', true, NULL, NULL, 1, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'x',
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::${sql.table('movement')}
        FROM generate_series(1, 1100)
      ))`.execute(payments.database.db)
    const { statusCode, body } = await statement(`from=${day(-1)}&to=${day(1)}`, member.headers, id)
    const rows = rowsOf(body)
    expect([statusCode, rows.length]).toEqual([200, 1_104])
    const ids = rows.slice(2, -2).map(([, line]) => line)
    expect(new Set(ids).size).toBe(1_100)
    expect(ids).toEqual(ids.toSorted())
    expect(rows.at(-2)?.at(9)).toBe(rows.at(-3)?.at(9))
  })

  const format = { message: 'must be a date such as 2026-03-01', code: 'FORMAT' }
  it.each([
    [
      '',
      [
        { field: 'from', message: 'is required', code: 'REQUIRED' },
        { field: 'to', message: 'is required', code: 'REQUIRED' },
      ],
    ],
    [
      'from=2026-02-30&to=2026-13-01',
      [
        { field: 'from', ...format },
        { field: 'to', ...format },
      ],
    ],
    ['from=2026-03-02&to=2026-03-01', [{ field: 'to', message: 'must not be before from', code: 'RANGE' }]],
    [
      'from=2025-01-01&to=2026-01-02',
      [{ field: 'to', message: 'must be less than 366 days after from', code: 'RANGE' }],
    ],
  ])('400: refuses the period %j', async (query, errors) => {
    const response = await statement(query)
    expect([response.statusCode, response.json()]).toEqual([400, errors])
  })

  it('200: writes a statement of all 366 days of a leap year', async () => {
    const { statusCode, body } = await statement('from=2024-01-01&to=2024-12-31')
    const balance = (time: string, kind: string) => [time, '', kind, '', '', '', '', '', '', '0.00', 'EUR']
    expect([statusCode, rowsOf(body).slice(1)]).toEqual([
      200,
      [
        balance('2024-01-01T00:00:00.000Z', 'opening balance'),
        balance('2024-12-31T23:59:59.999Z', 'closing balance'),
        [''],
      ],
    ])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await statement('', basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the period is judged', async () => {
    expect(statusAndBody(await statement('', member.headers, UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the period is judged', async () => {
    const stranger = await createTestApp(payments)
    expect(statusAndBody(await statement('', stranger.headers))).toEqual(refusals.forbidden)
    expect(statusAndBody(await statement('from=2026-03-01&to=2026-03-02', stranger.headers))).toEqual(
      refusals.forbidden,
    )
  })
})
