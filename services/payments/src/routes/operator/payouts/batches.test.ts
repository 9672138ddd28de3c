import { distributed } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../../../test/bodies.ts'
import {
  callPayouts,
  debtor,
  findShownPayout,
  merchantOfWaitingPayouts,
  paidOutLiveMerchant,
} from '../../../../test/operator-payouts.ts'
import { testOperators } from '../../../../test/operators.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments } from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const exportAll = (key?: string) => callPayouts(payments, 'POST', '/batches', { payload: debtor, ...(key && { key }) })
const textOf = ({ content }: { content: string }) => Buffer.from(content, 'base64').toString()

describe('POST /operator/payouts/batches', () => {
  it('201: puts what waits into files, euro as pain.001 and other currencies as CSV, once for each key', async () => {
    const [{ payoutId: ofEuro }, { payoutId: ofKrone, merchantId: krone }] = [
      await paidOutLiveMerchant(payments, member, 'EUR'),
      await paidOutLiveMerchant(payments, member, 'DKK'),
    ]
    const [exported, again] = [await exportAll('export'), await exportAll('export')]
    const { batch, files, waiting } = exported.json()
    const [euros, kroner] = await Promise.all([ofEuro, ofKrone].map((id) => findShownPayout(payments, member, id)))
    expect([exported.statusCode, waiting, batch, again.body, euros?.status]).toEqual([
      201,
      0,
      {
        id: expect.any(String),
        created: expect.any(String),
        payouts: 2,
        currencies: [
          { currency: 'EUR', amount: euros?.amount },
          { currency: 'DKK', amount: kroner?.amount },
        ],
      },
      exported.body,
      'exported',
    ])
    expect(files.map(({ name, type }: { name: string; type: string }) => [name, type])).toEqual([
      [`payouts-${batch.id}.xml`, 'application/xml'],
      [`payouts-${batch.id}.csv`, 'text/csv'],
    ])
    expect(textOf(files[0])).toContain(`<EndToEndId>${ofEuro}</EndToEndId>`)
    expect(textOf(files[1])).toBe(
      `payout,merchant,name,iban,currency,amount_minor\r\n${ofKrone},${krone},Shop of DKK,DK5000400440116243,DKK,${kroner?.amount}\r\n`,
    )
  })

  it('201: there is no batch and no file where nothing waits', async () => {
    await exportAll()
    expect(statusAndBody(await exportAll())).toEqual([201, { batch: null, files: [], waiting: 0 }])
  })

  // PL/pgSQL fetches the first 10 rows of a loop, then 50 at a time. The last of 14 payouts is in the second fetch. This test
  // needs a single server, because a cluster takes its locks on the workers.
  it.skipIf(distributed)(
    '201: a batch that waits for a payout leaves the balance to the outcome of this payout',
    async () => {
      await exportAll()
      const { merchantId, payoutIds } = await merchantOfWaitingPayouts(payments, member, 14)
      const last = payoutIds.at(-1) ?? ''
      const owner = new pg.Client({ connectionString: payments.url })
      await owner.connect()
      // A transaction sees one snapshot of `pg_stat_activity`. So query it outside the transaction that locks the payout.
      const waiting = async () => {
        const waits = sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'`
        return (await waits.execute(payments.owner.db)).rows.length
      }
      await owner.query('BEGIN')
      await owner.query('SELECT FROM payments.payouts WHERE merchant_id = $1 AND id = $2 FOR UPDATE', [
        merchantId,
        last,
      ])
      const closing = callPayouts(payments, 'POST', `/${last}/outcome`, { payload: { outcome: 'failed' } })
      await expect.poll(waiting).toBe(1)
      const exporting = exportAll()
      await expect.poll(waiting).toBe(2)
      const balance = 'SELECT FROM payments.merchant_balances WHERE merchant_id = $1 FOR UPDATE NOWAIT'
      const held = await owner.query(balance, [merchantId]).then(
        () => 'free',
        ({ message }) => message,
      )
      await owner.query('ROLLBACK')
      await owner.end()
      const [closed, exported] = [await closing, await exporting]
      expect([
        held,
        closed.statusCode,
        closed.json().payout.status,
        exported.statusCode,
        exported.json().batch.payouts,
      ]).toEqual(['free', 201, 'failed', 201, 13])
    },
  )

  it('400: refuses an account whose check digits are wrong, and a malformed BIC', async () => {
    const payload = { ...debtor, iban: 'DK5100400440116243', bic: 'x' }
    const answer = await callPayouts(payments, 'POST', '/batches', { payload })
    expect(statusAndBody(answer)).toEqual([
      400,
      [
        { field: 'iban', message: 'must have right check digits', code: 'FORMAT' },
        { field: 'bic', message: 'is not valid', code: 'FORMAT' },
      ],
    ])
  })

  it.each(['DE5137040044053201300', 'XX0912345678'])(
    '400: refuses an account that is none of its country: %s',
    async (iban) => {
      const answer = await callPayouts(payments, 'POST', '/batches', { payload: { ...debtor, iban } })
      const fields = [{ field: 'iban', message: 'must be an IBAN of its country', code: 'FORMAT' }]
      expect([answer.statusCode, answer.json()]).toEqual([400, fields])
    },
  )

  it.each([['[]'], ['DK50-0400440116243'], ['\u{10ffff}']])(
    '400: refuses an account of other characters: %j',
    async (iban) => {
      const answer = await callPayouts(payments, 'POST', '/batches', { payload: { ...debtor, iban } })
      const fields = [{ field: 'iban', message: 'must be an IBAN', code: 'FORMAT' }]
      expect([answer.statusCode, answer.json()]).toEqual([400, fields])
    },
  )
})

describe('GET /operator/payouts/batches', () => {
  it('200: lists the batches, newest first, page by page', async () => {
    await paidOutLiveMerchant(payments, member, 'EUR')
    const older = (await exportAll()).json().batch
    await paidOutLiveMerchant(payments, member, 'EUR')
    const newer = (await exportAll()).json().batch
    const [first, both] = [
      await callPayouts(payments, 'GET', '/batches?limit=1'),
      await callPayouts(payments, 'GET', '/batches?limit=2'),
    ]
    expect([statusAndBody(first), both.json()]).toEqual([[200, { batches: [newer] }], { batches: [newer, older] }])
    expect(first.headers.link).toContain('rel="next"')
  })

  it('400: refuses a page of more than 100', async () => {
    const fields = [{ field: 'limit', message: 'must be at most 100', code: 'RANGE' }]
    expect(statusAndBody(await callPayouts(payments, 'GET', '/batches?limit=101'))).toEqual([400, fields])
  })
})
