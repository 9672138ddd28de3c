import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { insertAppInvitation } from '../src/apps/app-repository.ts'
import { NOT_ENROLLED } from '../src/checkout/authentication.ts'
import { insertSession } from '../src/checkout/session-repository.ts'
import { hashToken } from '../src/members/invitation.ts'
import { countLockWaits } from './lock-waits.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

/** An expiring row, a locked row, and the call that waits for the lock. */
interface Ending {
  readonly expiring: { readonly table: string; readonly row: RawBuilder<unknown> }
  readonly locked: { readonly table: string; readonly row: RawBuilder<unknown> }
  readonly call: RawBuilder<unknown>
  /** The column that the call must not have written. */
  readonly left: RawBuilder<unknown>
}

const createMerchant = async () => (await createTestMerchant(payments, app, { currency: 'EUR', test: true })).id

async function openSession() {
  const merchantId = await createMerchant()
  const session = { merchantId, digest: Buffer.alloc(32), enrolment: NOT_ENROLLED }
  const id = await insertSession(payments.database.pools, session)
  const place = { table: 'payment_sessions', row: sql`merchant_id = ${merchantId} AND id = ${id}` }
  return { merchantId, id, ending: { expiring: place, locked: place } }
}

const endings: Readonly<Record<string, () => Promise<Ending>>> = {
  'an invitation that registers an app': async () => {
    const { code } = await insertAppInvitation(payments.owner.db, { code: 'code', note: null })
    const place = { table: 'app_invitations', row: sql`code_hash = ${hashToken(code)}` }
    return {
      ...{ expiring: place, locked: place },
      call: sql`SELECT FROM ${sql.table('register_app')}(${hashToken(code)}, ${Buffer.alloc(32, 7)}, 'hint', 'Shop')`,
      left: sql`SELECT used AS result FROM ${sql.table('app_invitations')} WHERE ${place.row}`,
    }
  },
  'an invitation of a user': async () => {
    const merchantId = await createMerchant()
    const payload = { email: 'ann@example.com' }
    await payments.app.inject({
      ...{ method: 'POST', url: `/merchants/${merchantId}/users`, headers: app.headers },
      payload,
    })
    const row = sql`merchant_id = ${merchantId}`
    const token = sql`(SELECT token_hash FROM ${sql.table('invitations')} WHERE ${row})`
    return {
      ...{ expiring: { table: 'invitations', row }, locked: { table: 'merchant_users', row } },
      call: sql`SELECT ${sql.table('accept_invitation')}(${token})`,
      left: sql`SELECT used AS result FROM ${sql.table('invitations')} WHERE ${row}`,
    }
  },
  'a session that is paid': async () => {
    const { merchantId, id, ending } = await openSession()
    const payment = {
      ...{ currency: 'EUR', amount: 100, descriptor: 'Shop', acquirer: null, tokens: [] },
      instrument: {
        ...{ id: `0123456789abcdef${merchantId.slice(16)}`, keyId: 0, bin: '424242', last4: '4242' },
        ...{ expiry: '2066-08-31', scheme: 'visa', planned: false },
      },
    }
    return {
      ...ending,
      call: sql`SELECT FROM ${sql.table('begin_payment')}(
        NULL, ${merchantId}, ${id}, ${JSON.stringify(payment)}::jsonb, '\\x00', decode(repeat('00', 32), 'hex'))`,
      left: sql`SELECT attempt_id AS result FROM ${sql.table('payment_sessions')} WHERE ${ending.locked.row}`,
    }
  },
  'a challenge that is answered': async () => {
    const { merchantId, id, ending } = await openSession()
    await sql`UPDATE ${sql.table('payment_sessions')} SET challenged = now() WHERE ${ending.locked.row}`.execute(
      payments.owner.db,
    )
    return {
      ...ending,
      call: sql`SELECT ${sql.table('decide_challenge')}(${merchantId}, ${id}, 'authenticated')`,
      left: sql`SELECT outcome AS result FROM ${sql.table('payment_sessions')} WHERE ${ending.locked.row}`,
    }
  },
}

it.each(Object.entries(endings))('%s is over when it ends while another request holds its row', async (_, open) => {
  const { db } = payments.owner
  const { expiring, locked, call, left } = await open()
  const expires = new Date(Date.now() + 300)
  await sql`UPDATE ${sql.table(expiring.table)} SET expires = ${expires} WHERE ${expiring.row}`.execute(db)
  const late = await db.transaction().execute(async (trx) => {
    await sql`SELECT FROM ${sql.table(locked.table)} WHERE ${locked.row} FOR UPDATE`.execute(trx)
    const called = call.execute(payments.service.db)
    await expect.poll(() => countLockWaits(payments)).toBe(1)
    const over = sql`SELECT FROM ${sql.table(expiring.table)} WHERE ${expiring.row} AND expires <= clock_timestamp()`
    await expect.poll(async () => (await over.execute(db)).rows, { timeout: 60_000 }).toHaveLength(1)
    return { called }
  })
  await late.called
  expect((await left.execute(db)).rows).toEqual([{ result: null }])
})
