import { distributed } from '@trestle/testing/temporary-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic, createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { updateUsedKeys } from './app-key-repository.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const lastUsed = async (appId: string) =>
  (
    await payments.database.db
      .selectFrom('app_keys')
      .select('last_used')
      .where('app_id', '=', appId)
      .executeTakeFirstOrThrow()
  ).last_used

describe('updateUsedKeys', () => {
  it('writes when a key last let a request in, after the requests', async () => {
    const { pools, usedKeys } = payments.deps
    const [used, refused, idle] = [
      await createTestApp(payments),
      await createTestApp(payments),
      await createTestApp(payments),
    ]
    for (const _ of [1, 2]) await payments.app.inject({ url: '/me', headers: used.headers })
    await payments.app.inject({ url: '/me', headers: basic('unknown') })
    await payments.app.inject({ url: '/merchants/x', headers: refused.headers })
    expect(await lastUsed(used.id)).toBeNull()
    await updateUsedKeys(pools, usedKeys)
    expect(Math.abs(Date.now() - ((await lastUsed(used.id))?.getTime() ?? 0))).toBeLessThan(60_000)
    expect(await lastUsed(refused.id)).not.toBeNull()
    expect(await lastUsed(idle.id)).toBeNull()
    const first = await lastUsed(used.id)
    await updateUsedKeys(pools, usedKeys)
    expect(await lastUsed(used.id)).toEqual(first)
  })

  // A distributed database stores each key on every server. No single statement could skip the same locked row on all servers.
  it.skipIf(distributed)('leaves out a key that another transaction holds, in place of waiting for it', async () => {
    const { pools, usedKeys } = payments.deps
    const [held, free] = [await createTestApp(payments), await createTestApp(payments)]
    for (const { headers } of [held, free]) await payments.app.inject({ url: '/me', headers })
    await payments.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('app_keys').select('id').where('app_id', '=', held.id).forUpdate().execute()
      await updateUsedKeys(pools, usedKeys)
    })
    expect(await lastUsed(held.id)).toBeNull()
    expect(await lastUsed(free.id)).not.toBeNull()
  })
})
