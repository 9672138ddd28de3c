import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { callerColumns, callerRow } from '../src/access/caller.ts'
import { callerOf } from './caller.ts'
import { countLockWaits } from './lock-waits.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

// Ann's id is lower than Bob's, so a statement that locks all members locks hers first.
const ANN = 'a'.repeat(24)
const BOB = 'b'.repeat(24)
const EMAILS: Readonly<Record<string, string>> = { [ANN]: 'ann@example.com', [BOB]: 'bob@example.com' }

let payments: TestPayments
let app: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
  const created = new Date()
  const users = Object.entries(EMAILS).map(([id, email]) => ({ id, email, created }))
  await payments.database.db.insertInto('users').values(users).execute()
})
afterAll(() => payments.close())
beforeEach(async () => {
  merchantId = (await createTestMerchant(payments, app)).id
  const members = Object.keys(EMAILS).map((user_id) => ({
    ...{ merchant_id: merchantId, user_id, pending: false, created: new Date() },
  }))
  await payments.database.db.insertInto('merchant_users').values(members).execute()
})

/** Runs a statement only once. The service would repeat it after a deadlock. */
async function verdictOf(call: ReturnType<typeof sql<{ verdict: string }>>): Promise<string | undefined> {
  return (await call.execute(payments.service.db)).rows[0]?.verdict
}

const keyOf = (userId: string, key: string) => ({
  ...{ method: 'POST', path: '/users', key: `${userId} ${key}`, fingerprint: Buffer.alloc(32) },
})
const invite = (by: string, invited: string, key = 'k') => {
  const caller = callerColumns({ keyMac: null, userEmail: EMAILS[by] ?? null, idempotentRequest: keyOf(by, key) })
  return verdictOf(sql`SELECT verdict FROM ${sql.table('invite_user')}(
    ${callerRow(caller)}, ${merchantId}, ${EMAILS[invited]}, ${Buffer.alloc(32)}, 'mail', '{}'::jsonb)`)
}
const revoke = (userId: string) =>
  verdictOf(sql`SELECT verdict FROM ${sql.table('revoke_user')}(
    ${callerRow(callerColumns(callerOf(app)))}, ${merchantId}, ${userId})`)

it.each<[string, readonly (() => Promise<unknown>)[]]>([
  ['two members invite each other', [() => invite(ANN, BOB), () => invite(BOB, ANN)]],
  ['a member invites their own address twice', [() => invite(ANN, ANN, 'k'), () => invite(ANN, ANN, 'l')]],
  ['a member is revoked while a later one invites them', [() => invite(BOB, ANN), () => revoke(ANN)]],
  ['a member is revoked while an earlier one invites them', [() => invite(ANN, BOB), () => revoke(BOB)]],
])('no call waits for one that waits for it where %s', async (_title, calls) => {
  const answers: Promise<unknown>[] = []
  const hold = payments.database.db.transaction().execute(async (trx) => {
    // An invitation has locked its caller's membership, and waits for the row of its key.
    const keys = [keyOf(ANN, 'k'), keyOf(ANN, 'l'), keyOf(BOB, 'k')]
    const rows = keys.map((key) => ({
      ...{ merchant_id: merchantId, identity_id: key.key.slice(0, 24), created: new Date(), ...key },
    }))
    await trx.insertInto('idempotency').values(rows).execute()
    for (const call of calls) {
      answers.push(call())
      await expect.poll(() => countLockWaits(payments)).toBe(answers.length)
    }
    throw new Error('undo')
  })
  await expect(hold).rejects.toThrow('undo')
  expect(await Promise.allSettled(answers)).toEqual(calls.map(() => ({ status: 'fulfilled', value: 'done' })))
})
