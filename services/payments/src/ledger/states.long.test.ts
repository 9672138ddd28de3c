import { openDatabase } from '@trestle/database/connect.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { createEmptyDatabase, distributed, prepared } from '@trestle/testing/temporary-database.ts'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { merchantsCommand } from '../commands/merchants.ts'
import { payoutsCommand } from '../commands/payouts.ts'
import type { PaymentsTables } from '../database.ts'
import { DEFAULT_CLAIM } from '../merchants/merchant.ts'
import { migrateOptions } from '../migrations.ts'
import { type Violation, verifyLedger } from '../use-cases/verify-ledger.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

async function violations(db: Kysely<PaymentsTables>, merchantId: string): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(db, { merchantId, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

const request = async (method: 'POST' | 'PUT', url: string, payload: object) => {
  const response = await payments.app.inject({ method, url, payload, headers: member.headers })
  expect(response.statusCode).toBeLessThan(300)
  return response.body === '' ? {} : response.json()
}

/** Creates a merchant with a row in every recorded table. Returns the ids of the merchant and its transaction. */
async function fillMerchant() {
  const bank = { iban: 'DK5000400440116243' }
  const { id } = await createTestMerchant(payments, member, { test: true, currency: 'EUR', bank })
  const transactionId = await customerPayment(payments, id, { currency: 'EUR', amount: 90_000 })
  await request('POST', `/transactions/${transactionId}/captures`, { amount: 80_000 })
  await request('POST', `/merchants/${id}/cards`, { transactionId })
  await request('POST', `/test/transactions/${transactionId}/disputes`, { amount: 100 })
  await request('POST', `/test/merchants/${id}/payouts`, {})
  return { id, transactionId }
}

/** Returns the recorded states of a merchant in order, each with its login. */
const recorded = (merchantId: string) =>
  payments.database.db
    .selectFrom('state_entries')
    .select(['table_name', 'login'])
    .where('merchant_id', '=', merchantId)
    .orderBy('id')
    .execute()

describe('a row that moves money', () => {
  it('is recorded when it is made and at each change, with the login', async () => {
    const { id, transactionId } = await fillMerchant()
    // On a cluster, the login is the role by which the other servers connect to the merchant's server.
    const login = distributed ? expect.stringMatching(/./) : new URL(payments.url).username
    const tables = ['merchants', 'transactions', 'cards', 'disputes', 'payouts']
    expect(await recorded(id)).toEqual(tables.map((table_name) => ({ table_name, login })))
    await request('PUT', `/merchants/${id}`, { descriptor: 'Another' })
    const { dispute } = await request('POST', `/test/transactions/${transactionId}/disputes`, { amount: 50 })
    await request('POST', `/test/disputes/${dispute.id}/outcomes`, { outcome: 'lost' })
    const { run } = commandRunner([merchantsCommand], () => operatorDeps(payments))
    await run('merchants', 'pricing', id, '--rate', '200')
    const later = (await recorded(id)).slice(tables.length).map(({ table_name }) => table_name)
    expect(later).toEqual(['merchants', 'disputes', 'disputes', 'merchants'])
    expect(await violations(payments.database.db, id)).toEqual([])
  })

  it('is recorded for a payout when it is made, exported, settled and returned', async () => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', bank: { iban: 'DK5000400440116243' } })
    const { json, run } = commandRunner([payoutsCommand], () => operatorDeps(payments))
    await sql`SELECT * FROM ${sql.table('adjust')}(${id}, 5000, 'Goodwill')`.execute(payments.owner.db)
    await run('payouts', 'run', '--merchant', id)
    const [payout] = await payments.database.db
      .selectFrom('payouts')
      .selectAll()
      .where('merchant_id', '=', id)
      .execute()
    await sql`SELECT ${sql.table('export_waiting_payouts')}(1)`.execute(payments.owner.db)
    await json('payouts', 'fail', payout?.id ?? '')
    expect((await recorded(id)).map(({ table_name }) => table_name)).toEqual([
      'merchants',
      'payouts',
      'payouts',
      'payouts',
    ])
    expect(await violations(payments.database.db, id)).toEqual([])
  })

  it('is found when its account was changed by hand, and recorded by hand too', async () => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', bank: { iban: 'DK5000400440116243' } })
    const { readJson } = commandRunner([payoutsCommand], () => operatorDeps(payments))
    await sql`SELECT * FROM ${sql.table('adjust')}(${id}, 5000, 'Goodwill')`.execute(payments.owner.db)
    const [turn] = await readJson(z.array(z.looseObject({ payout: z.string() })), 'payouts', 'run', '--merchant', id)
    const message = 'was recorded with two accounts'
    for (const iban of ['DE89370400440532013000', 'DK5000400440116243']) {
      await sql`UPDATE ${sql.table('payouts')} SET iban = ${iban} WHERE merchant_id = ${id}`.execute(payments.owner.db)
      await sql`SELECT ${sql.table('record_states')}(${id}, 'payouts', ARRAY[${turn?.payout}])`.execute(
        payments.owner.db,
      )
      expect(await violations(payments.database.db, id)).toEqual([
        { merchantId: id, invariant: 17, table: 'payouts', id: turn?.payout, message },
      ])
    }
  })
})

it('money is written only by functions, also under a prefix', async () => {
  const { url, drop } = await createEmptyDatabase()
  const role = 'shop_payments'
  await migrateUp(migrateOptions({ database: { migrationUrl: url, namespace: 'shop', role } }))
  const openAs = (user: string | undefined) =>
    openDatabase<PaymentsTables>({
      url,
      names: createNames('payments', 'shop'),
      role: user,
      applicationName: 'test',
      poolSize: 1,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 1_000,
      prepared,
      onConnectionError: () => {},
    })
  const [owner, service] = [openAs(undefined), openAs(role)]
  const { db } = service
  const merchant = {
    id: 'a'.repeat(24),
    key: '33333333-3333-4333-8333-333333333333',
    currency: 'EUR',
    test: true,
    email: 'a@example.com',
    website: 'https://example.com',
    descriptor: 'Coffee',
    country: 'DK',
    claim: DEFAULT_CLAIM,
    pricing: { rate: 1, flat: { currency: 'EUR', amount: 0 }, dispute: { currency: 'EUR', amount: 0 } },
  }
  await sql`SELECT ${sql.table('seed_merchant')}(${JSON.stringify(merchant)}::jsonb)`.execute(owner.db)
  const change = sql`SELECT ${sql.table('change_merchant')}(${merchant.id}, '{"pricing":{"rate":5}}')`
  await change.execute(owner.db)
  await expect(change.execute(db)).rejects.toHaveProperty('code', '42501')
  expect(await violations(db, merchant.id)).toEqual([])
  await expect(db.updateTable('merchants').set({ iban: 'x' }).execute()).rejects.toHaveProperty('code', '42501')
  await expect(sql`SELECT ${sql.table('record_states')}('', '', '{}')`.execute(db)).rejects.toHaveProperty(
    'code',
    '42501',
  )
  await Promise.all([owner.close(), service.close()])
  await drop()
})
