import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NOT_ENROLLED } from '../src/checkout/authentication.ts'
import { insertSession } from '../src/checkout/session-repository.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from './payments-app.ts'

const FAR = 500_000

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

it('the server of a merchant makes the ids of its sessions, whichever server is asked', async () => {
  const { id: merchantId } = await createTestMerchant(payments, await createTestApp(payments), { test: true })
  await sql`SELECT setval('payments.id_counter', ${FAR})`.execute(payments.owner.db)
  const session = { merchantId, digest: Buffer.alloc(32), enrolment: NOT_ENROLLED }
  const ids = [await insertSession(payments.service.pools, session), await insertSession(payments.owner.pools, session)]
  const [first = 0, second] = ids.map((id) => Number.parseInt(id.slice(11, 16), 16))
  expect(first).toBeLessThan(FAR)
  expect(second).toBe(first + 1)
})
