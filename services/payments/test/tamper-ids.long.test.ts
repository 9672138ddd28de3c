import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { createLiveMerchant } from './live-merchant.ts'
import { createTestApp, startPayments, type TestPayments } from './payments-app.ts'
import { PROVEN_TABLES } from './proof.ts'
import { createStubAcquirer } from './stub-acquirer.ts'
import { disarm, restore } from './tamper.ts'

const UNKNOWN = 'abcabcabcabcabcabcabcabc'
let payments: TestPayments
let intruder: pg.Client
let merchantId: string
beforeAll(async () => {
  const north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  intruder = new pg.Client({ connectionString: payments.url })
  await intruder.connect()
  const merchant = await createLiveMerchant(payments, await createTestApp(payments), { north })
  await merchant.book('capture', await merchant.charge(10_000), 1_000)
  merchantId = merchant.id
  await disarm(intruder, PROVEN_TABLES)
})
afterEach(() => restore(intruder, ...PROVEN_TABLES))
afterAll(async () => {
  await intruder.end()
  await payments.close()
})

/** The findings of all merchants, as `table: message`. */
async function findings(): Promise<string[]> {
  const found: string[] = []
  for await (const { violations } of verifyLedger(payments.database.db, { merchantId: undefined, heads: new Map() })) {
    found.push(...violations.map(({ table, message }) => `${table}: ${message}`))
  }
  return found
}

it.each([null, ''])('a record with the id %o vouches for nothing, and is found', async (id) => {
  await intruder.query(`UPDATE payments.merchants SET iban = 'DE89370400440532013000' WHERE id = $1`, [merchantId])
  await intruder.query(
    `INSERT INTO payments.state_entries
       (merchant_id, id, created, table_name, row_id, money, party, terms, login, hash, hash_version)
     SELECT $1, $2, now(), 'merchants', d.row_id, d.money, d.party, d.terms, 'x', sha256('x'), 1
     FROM payments.row_digests($1, 'merchants', ARRAY[$1]) d`,
    [merchantId, id],
  )
  await expect(
    intruder.query(`SELECT payments.expect_recorded($1, 'merchants', ARRAY[$1])`, [merchantId]),
  ).rejects.toThrow('who gets or pays it was changed by hand')
  expect(await findings()).toEqual([
    'state_entries: has no id: it was put in by hand',
    expect.stringContaining('merchants: who gets or pays money was changed'),
  ])
})

it.each(['NULL', "''"])('a merchant with the id %s is found', async (id) => {
  await intruder.query(
    `INSERT INTO payments.merchants SELECT (jsonb_populate_record(m, jsonb_build_object('id', ${id}))).*
     FROM payments.merchants m WHERE m.id = $1`,
    [merchantId],
  )
  expect(await findings()).toContain('merchant_balances: is gone')
})

it.each(['cards', 'disputes', 'payouts', 'instruments', 'transactions', 'acquirer_operations', 'acquirer_exceptions'])(
  'a row of %s whose merchant does not exist is found',
  async (table) => {
    await intruder.query(`INSERT INTO payments.${table} (merchant_id, id) VALUES ($1, $1)`, [UNKNOWN])
    expect((await findings()).filter((finding) => finding.endsWith(': is gone'))).toEqual([
      'merchants: is gone',
      'merchant_balances: is gone',
    ])
  },
)

it.each(['merchants', 'merchant_balances', 'transactions', 'instruments', 'acquirer_operations'])(
  'a row of %s that stands there twice is found',
  async (table) => {
    await intruder.query(`INSERT INTO payments.${table} SELECT * FROM saved.${table}`)
    expect(await findings()).toContain(`${table}: is there more than once`)
  },
)
