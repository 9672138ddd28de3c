import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callAddException, callResolveException } from '../src/acquirers/exception-repository.ts'
import type { PaymentsTables } from '../src/database.ts'
import { callMoveCurrency } from '../src/merchants/operator-merchant-repository.ts'
import { countLockWaits } from './lock-waits.ts'
import { createMerchantInLev } from './merchant-in-lev.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]), lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const payload = { type: 'dispute.opened', acquirer: 'north' }
const report = (db: Kysely<PaymentsTables>, merchantId: string) =>
  callAddException(db, { merchantId, reference: 'event d1', payload, disputed: { amount: 1_000, currency: 'EUR' } })

it.each<[string, (db: Kysely<PaymentsTables>, merchantId: string, id: string) => Promise<unknown>]>([
  [
    'an adjustment that resolves it',
    (db, merchantId, id) => sql`SELECT ${sql.table('adjust')}(${merchantId}, -5, 'x', ${id})`.execute(db),
  ],
  ['a report of it', report],
  ['an operator who resolves it', (db, merchantId, id) => callResolveException(db, { merchantId, id })],
])('a move to the euro waits for %s, and does not stop it', async (_name, act) => {
  const { db } = payments.owner
  const merchant = await createMerchantInLev(payments, app, north)
  await report(db, merchant.id)
  const exceptions = db.selectFrom('acquirer_exceptions').where('merchant_id', '=', merchant.id)
  const { id } = await exceptions.select('id').executeTakeFirstOrThrow()
  const changes: Promise<unknown>[] = []
  await payments.database.db.transaction().execute(async (trx) => {
    const held = trx.selectFrom('acquirer_exceptions').where('merchant_id', '=', merchant.id).where('id', '=', id)
    await held.select('id').forUpdate().execute()
    changes.push(act(db, merchant.id, id))
    await expect.poll(() => countLockWaits(payments)).toBe(1)
    changes.push(callMoveCurrency(db, { merchantId: merchant.id, currency: 'EUR' }))
    await expect.poll(() => countLockWaits(payments)).toBe(2)
  })
  expect((await Promise.allSettled(changes)).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  // 10.00 euro were 19.56 lev.
  expect([await exceptions.select('reserved').execute(), await merchant.violations()]).toEqual([
    [{ reserved: 1_000n }],
    [],
  ])
})
