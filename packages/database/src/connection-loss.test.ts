import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { openDatabase } from './connect.ts'
import { createNames } from './names.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

const temporary = await createEmptyDatabase()
const errors: Error[] = []
const database = openDatabase<object>({
  url: temporary.directUrl,
  names: createNames('public'),
  applicationName: 'loss-test',
  poolSize: 1,
  statementTimeoutMs: 5_000,
  lockTimeoutMs: 1_000,
  prepared: true,
  onConnectionError: (error) => errors.push(error),
})
afterAll(async () => {
  await database.close()
  await temporary.drop()
})

/** Terminates a connection, like an immediate shutdown of the server. */
async function terminate(pid: number): Promise<void> {
  const client = new pg.Client(temporary.directUrl)
  await client.connect()
  await client.query('SELECT pg_terminate_backend($1)', [pid])
  await client.end()
}

const pidOf = async (db: Pick<typeof database, 'db'>['db']) =>
  (await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db)).rows[0]?.pid ?? 0

// ASVS 16.5.2
describe('a lost connection of the pool', () => {
  it('fails its next statement, not the process, while it is in use', async () => {
    const lost = database.db.connection().execute(async (held) => {
      await terminate(await pidOf(held))
      await expect.poll(() => pidOf(held).catch(() => 'gone')).toBe('gone')
      await pidOf(held)
    })
    expect(isDatabaseUnavailable(await lost.catch((error: unknown) => error))).toBe(true)
    expect(await pidOf(database.db)).toBeGreaterThan(0)
  })

  it('is reported without the client and its secrets while it is idle', async () => {
    errors.length = 0
    await terminate(await pidOf(database.db))
    await expect.poll(() => errors.length).toBe(1)
    expect(errors.map((error) => Object.keys(error).includes('client'))).toEqual([false])
  })
})
