import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transactAgain } from './again-when-lost.ts'
import { type Database, openDatabase } from './connect.ts'
import { createNames } from './names.ts'

let empty: TemporaryDatabase
let database: Database<object>
beforeAll(async () => {
  empty = await createEmptyDatabase()
  database = openDatabase({
    url: empty.url,
    names: createNames('example'),
    applicationName: 'test',
    poolSize: 2,
    role: undefined,
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 5_000,
    prepared,
    onConnectionError: () => {},
  })
  await sql`CREATE TABLE public.places (id int PRIMARY KEY, visits int NOT NULL DEFAULT 0)`.execute(database.db)
  await sql`INSERT INTO public.places (id) VALUES (1), (2)`.execute(database.db)
})
afterAll(async () => {
  await database.close()
  await empty.drop()
})

describe('transactAgain', () => {
  it('makes both changes of two transactions that end each other as a deadlock', async () => {
    const bothHoldOne = Promise.withResolvers<void>()
    let runs = 0
    let holders = 0
    const visit = (first: number, second: number) =>
      transactAgain(database.db, async (trx) => {
        const add = (id: number) => sql`UPDATE public.places SET visits = visits + 1 WHERE id = ${id}`.execute(trx)
        runs += 1
        await add(first)
        holders += 1
        if (holders === 2) bothHoldOne.resolve()
        await bothHoldOne.promise
        await add(second)
      })
    await Promise.all([visit(1, 2), visit(2, 1)])
    const { rows } = await sql`SELECT id, visits FROM public.places ORDER BY id`.execute(database.db)
    expect(rows).toEqual([
      { id: 1, visits: 2 },
      { id: 2, visits: 2 },
    ])
    // The cancelled transaction may lock its first row again before the other continues, and be cancelled again.
    expect(runs).toBeGreaterThan(2)
  })

  it('runs work once that fails for another reason', async () => {
    let runs = 0
    const failing = transactAgain(database.db, async (trx) => {
      runs += 1
      await sql`INSERT INTO public.places (id) VALUES (1)`.execute(trx)
    })
    await expect(failing).rejects.toHaveProperty('code', '23505')
    expect(runs).toBe(1)
  })
})
