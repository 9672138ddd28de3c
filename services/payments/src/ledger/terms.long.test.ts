import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { settle } from '../../test/live-merchant.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  operationsCall,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
} from '../../test/payments-app.ts'
import { type Violation, verifyLedger } from '../use-cases/verify-ledger.ts'

let payments: TestPayments
let app: TestApp
let keyMac: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  const key = payments.owner.db.selectFrom('app_keys').select('mac').where('app_id', '=', app.id)
  keyMac = (await key.executeTakeFirstOrThrow()).mac.toString('hex')
})
afterAll(() => payments.close())

/** Runs a statement with the login of the service, as an attacker could. */
const attack = <Row>(statement: RawBuilder<Row>) => statement.execute(payments.service.db)
/** Runs a statement as the owner of the database, with triggers and checks off. */
const byHand = (statement: RawBuilder<unknown>) =>
  payments.owner.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await statement.execute(trx)
  })
const INVALID = '22023'

async function violations(merchantId: string): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}
/** Returns the violations of a merchant's terms, without those of its chains. */
const strayTerms = async (merchantId: string) =>
  (await violations(merchantId))
    .filter(({ invariant }) => invariant === 18)
    .map(({ table, message }) => [table, message])

async function createMerchant(changes: object = {}) {
  const bank = { iban: 'DK5000400440116243' }
  return (await createTestMerchant(payments, app, { currency: 'EUR', test: true, bank, ...changes })).id
}

async function createCaptured(currency = 'EUR') {
  const merchantId = await createMerchant()
  const id = await customerPayment(payments, merchantId, { currency, amount: 1_000 })
  await capture(payments, app, id, 500)
  return { merchantId, id }
}

const runOperation = async (operation: { readonly transactionId: string } & object, margin = 0) => {
  const operations = JSON.stringify([{ keyMac, ...operation }])
  const call = await operationsCall(payments, operation.transactionId, sql`${operations}, ${margin}, 7`)
  return attack(sql<{ verdict: string; possible: string | null }>`SELECT verdict, possible FROM ${call}`)
}

describe('what the login of the service chooses', () => {
  it('refuses a margin out of range', async () => {
    const { id } = await createCaptured('USD')
    for (const margin of [-1_000_000, -1, 10_001]) {
      const operation = { transactionId: id, kind: 'capture', amount: 100, currency: 'USD' }
      await expect(runOperation(operation, margin)).rejects.toHaveProperty('code', INVALID)
    }
  })

  it('refuses an amount below 1', async () => {
    const { merchantId, id } = await createCaptured()
    const [trailId] = (
      await payments.owner.db.selectFrom('trail_entries').select('id').where('transaction_id', '=', id).execute()
    ).map((row) => row.id)
    for (const [kind, amount] of [
      ['refund', -500],
      ['capture', -500],
      ['void', 0],
      ['void', null],
    ] as const) {
      const operation = { transactionId: id, kind, amount, currency: 'EUR', reference: `rejected ${trailId}` }
      expect((await runOperation(operation)).rows).toEqual([{ verdict: 'limit-exceeded', possible: 500n }])
    }
    expect(await violations(merchantId)).toEqual([])
  })

  it.each([{ rate: -900_000 }, { rate: 10_001 }, { dispute: { currency: 'EUR', amount: -1 } }])(
    'prices of a merchant like %j',
    async (price) => {
      const merchant = {
        currency: 'EUR',
        test: false,
        email: 'a@example.com',
        website: 'https://example.com',
        descriptor: 'x',
        country: 'DK',
        claim: { canCapture: true },
        pricing: { rate: 1, ...price },
      }
      const create = sql`
        SELECT FROM ${sql.table('create_merchant')}(
          ROW(decode(${keyMac}, 'hex'), NULL, NULL, NULL, NULL, NULL)::${sql.table('caller')}, ${JSON.stringify(merchant)}::jsonb
        )`
      await expect(attack(create)).rejects.toHaveProperty('code', INVALID)
    },
  )

  it('gives no fee back in an entry that takes nothing back', async () => {
    const { id } = await createCaptured()
    for (const fees of [sql`fee_flat = -500, fee_rate = 0`, sql`fee_flat = 0, fee_rate = -500`]) {
      const forged = byHand(sql`
        UPDATE ${sql.table('trail_entries')} SET ${fees}, balance = gross + 500 WHERE transaction_id = ${id}`)
      await expect(forged).rejects.toThrow('trail_entries_fee_ck')
    }
  })

  it('refuses test money at a live merchant', async () => {
    const live = await createMerchant({ test: false })
    const cardId = `${'5'.repeat(16)}${live.slice(16)}`
    const begin = (acquirer: string | null) => {
      const card = { id: cardId, keyId: 1, bin: '411111', last4: '1111', expiry: '2030-01-31', scheme: 'visa' }
      const payment = {
        test: true,
        acquirer,
        amount: 50_000_000,
        currency: 'EUR',
        descriptor: 'x',
        tokens: [],
        instrument: { ...card, scenario: {}, planned: false },
      }
      return attack(sql<{ attempt_id: string }>`
        SELECT attempt_id FROM ${sql.table('begin_payment')}(
          NULL, ${live}, NULL, ${JSON.stringify(payment)}::jsonb, '\\x00', sha256('x'))`)
    }
    await expect(begin('north')).rejects.toHaveProperty('code', '40001')
    await expect(begin(null)).rejects.toHaveProperty('code', '23514')
    await settle(payments.owner.db, live, { acquirer: 'north' })
    const [begun] = (await begin('north')).rows
    await attack(sql`
      SELECT FROM ${sql.table('finish_payment')}(${live}, ${begun?.attempt_id}, 'approved', NULL, NULL, 'x', NULL)`)
    const stored = payments.owner.db.selectFrom('transactions').select('test').where('merchant_id', '=', live)
    expect(await stored.execute()).toEqual([{ test: false }])
  })

  it('never decides when a merchant is paid out', async () => {
    const live = await createMerchant({ test: false })
    const clock = (merchantId: string, seconds: number) =>
      attack(sql`SELECT verdict FROM ${sql.table('advance_clock')}(NULL, ${merchantId}, ${seconds})`)
    for (const seconds of [259_200, -259_200])
      expect((await clock(live, seconds)).rows).toEqual([{ verdict: 'forbidden' }])
    const test = await createMerchant()
    expect((await clock(test, 259_200)).rows).toEqual([{ verdict: 'done' }])
    expect((await clock(test, -1)).rows).toEqual([{ verdict: 'limit-exceeded' }])
    for (const delayDays of [-1, null]) {
      await expect(
        attack(sql`SELECT FROM ${sql.table('pay_out')}(NULL, ${live}, 1, ${delayDays})`),
      ).rejects.toHaveProperty('code', INVALID)
    }
  })
})

describe('the expiry of authorizations', () => {
  it.each([-1, -36_500, null])('refuses %j days, and voids nothing', async (days) => {
    const { merchantId, id } = await createCaptured()
    const expire = sql`SELECT FROM ${sql.table('expire_authorizations')}(${merchantId}, ${days}::int, 100)`
    await expect(attack(expire)).rejects.toHaveProperty('code', INVALID)
    const left = payments.owner.db.selectFrom('transactions').select(['pending', 'voided']).where('id', '=', id)
    expect(await left.execute()).toEqual([{ pending: 500n, voided: 0n }])
  })
})

describe('ledger verify finds', () => {
  beforeAll(() =>
    byHand(sql`
      ALTER TABLE ${sql.table('trail_entries')}
        DROP CONSTRAINT trail_entries_amount_ck, DROP CONSTRAINT trail_entries_balance_ck,
        DROP CONSTRAINT trail_entries_fee_ck`),
  )
  const trail = (id: string, assignment: RawBuilder<unknown>) =>
    byHand(sql`UPDATE ${sql.table('trail_entries')} SET ${assignment} WHERE transaction_id = ${id}`)

  it.each([
    ['USD', sql`gross = 8707`, 'is not worth its amount at its rate'],
    ['USD', sql`rate = 'x'`, 'is not worth its amount at its rate'],
    ['USD', sql`rate_date = rate_date - 10000`, 'its rate is none of its day with a margin of 0 or more'],
    [
      'USD',
      sql`rate = (rate::numeric * 2)::text, gross = round(amount * rate::numeric * 2)`,
      'its rate is none of its day with a margin of 0 or more',
    ],
    ['EUR', sql`gross = amount + 1`, 'is exchanged within one currency'],
    ['EUR', sql`fee_rate = -1`, 'its worth or a fee is negative'],
    ['EUR', sql`fee_flat = -1`, 'its worth or a fee is negative'],
    [
      'EUR',
      sql`amount = -500, kind = 'refund', reference = 'rejected ' || id`,
      'takes back what no acquirer has rejected or left unanswered',
    ],
  ])('a capture in %s with other terms', async (currency, assignment, message) => {
    const { merchantId, id } = await createCaptured(currency)
    expect(await violations(merchantId)).toEqual([])
    await trail(id, assignment)
    expect(await strayTerms(merchantId)).toContainEqual(['trail_entries', message])
  })

  it('test money at a live merchant', async () => {
    const { merchantId } = await createCaptured()
    const paid = await payments.app.inject({
      method: 'POST',
      url: `/test/merchants/${merchantId}/payouts`,
      headers: app.headers,
      payload: {},
    })
    expect(paid.statusCode).toBe(201)
    await byHand(sql`UPDATE ${sql.table('merchants')} SET test = false WHERE id = ${merchantId}`)
    const message = 'is test at a live merchant, or live at a test one'
    // A test payout is settled immediately, so it has two journals.
    const tables = ['journals', 'lines', 'journals', 'lines', 'journals', 'transactions', 'payouts']
    expect(await strayTerms(merchantId)).toEqual(tables.map((table) => [table, message]))
  })

  it('no fixed rate of a currency that the euro has replaced, but any other rate of it', async () => {
    for (const own of ['EUR', 'USD']) {
      const merchantId = await createMerchant({ currency: own })
      const id = await customerPayment(payments, merchantId, { currency: 'GBP', amount: 1_000 })
      // The service refuses the lev for new transactions, so set the currency of an older transaction by SQL.
      await byHand(sql`UPDATE ${sql.table('transactions')} SET currency = 'BGN' WHERE id = ${id}`)
      await capture(payments, app, id, 500)
      expect([own, await strayTerms(merchantId)]).toEqual([own, []])
      await byHand(sql`
        UPDATE ${sql.table('trail_entries')} SET rate = (rate::numeric * 1.00002)::numeric(20, 10)::text
        WHERE transaction_id = ${id} AND kind = 'capture'`)
      expect([own, await strayTerms(merchantId)]).toEqual([
        own,
        [['trail_entries', 'its rate is none of its day with a margin of 0 or more']],
      ])
    }
  })

  it('a rate that was replaced by hand, and no rate that an import has replaced', async () => {
    const { rows } = await sql<{ today: string }>`SELECT (now() AT TIME ZONE 'UTC')::date::text AS today`.execute(
      payments.owner.db,
    )
    const rates = (rate: number) => JSON.stringify([{ date: rows[0]?.today, currency: 'GBP', rate }])
    const load = (rate: number) =>
      sql`SELECT ${sql.table('import_rates')}(${rates(rate)}::jsonb)`.execute(payments.owner.db)
    // Use GBP, because no other test depends on its rate today.
    await load(2.5)
    const { merchantId } = await createCaptured('GBP')
    await load(1.25)
    expect(await violations(merchantId)).toEqual([])
    const later = await createCaptured('GBP')
    await byHand(sql`UPDATE ${sql.table('fx_rates')} SET rate = 5 WHERE currency = 'GBP' AND rate = 1.25`)
    expect(await strayTerms(merchantId)).toEqual([])
    expect(await strayTerms(later.merchantId)).toEqual([
      ['trail_entries', 'its rate is none of its day with a margin of 0 or more'],
    ])
  })
})
