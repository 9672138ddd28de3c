import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import type { InventoryTables } from '../database.ts'
import { runOnce } from './key-repository.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

const caller = () => ({
  actor: null,
  idempotentRequest: { key: randomUUID(), path: '/somethings', fingerprint: Buffer.alloc(32) },
})

/** Returns work that loses this number of conflicts before it succeeds. */
function losing(times: number, code: '40001' | '40P01') {
  const work = {
    tries: 0,
    make: async (db: Kysely<InventoryTables>) => {
      work.tries++
      const lose = sql`DO ${sql.lit(`BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END`)}`
      if (work.tries <= times) await lose.execute(db)
      return { id: work.tries }
    },
  }
  return work
}

describe('runOnce', () => {
  it.each(['40001', '40P01'] as const)(
    'runs again after a lost conflict (%s), with and without a key',
    async (code) => {
      for (const own of [caller(), { actor: null, idempotentRequest: undefined }]) {
        const answer = await runOnce(inventory.db, own, losing(5, code).make)
        expect(answer).toEqual({ verdict: 'done', body: { id: 6 } })
      }
    },
  )

  it('gives up after five retries, and leaves no trace of the key', async () => {
    const work = losing(6, '40001')
    const own = caller()
    await expect(runOnce(inventory.db, own, work.make)).rejects.toHaveProperty('code', '40001')
    expect(work.tries).toBe(6)
    expect(await runOnce(inventory.db, own, losing(0, '40001').make)).toEqual({ verdict: 'done', body: { id: 1 } })
  })
})
