import { openWire } from '@trestle/testing/cut-wire.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withDatabase } from './migration-connection.ts'

let database: TemporaryDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

const askOne = async (db: Kysely<unknown>) => (await sql<{ one: number }>`SELECT 1 AS one`.execute(db)).rows

describe('withDatabase', () => {
  it('runs its work in a session without a limit of transactions', async () => {
    const limited = new URL(database.directUrl)
    limited.searchParams.set('options', '-c transaction_timeout=1h')
    const readLimit = async (db: Kysely<unknown>) => (await sql`SHOW transaction_timeout`.execute(db)).rows
    const rows = await withDatabase({ url: limited.href, hasSession: true }, readLimit)
    expect(rows).toEqual([{ transaction_timeout: '0' }])
  })

  it.each([1, 2])('fails where the connection is lost at statement %i', async (cutAt) => {
    const wire = await openWire(database.directUrl, cutAt)
    await expect(withDatabase({ url: wire.url, hasSession: true }, askOne)).rejects.toThrow('Connection terminated')
    await wire.close()
  })
})
