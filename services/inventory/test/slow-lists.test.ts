import { get } from 'node:http'
import { portOf } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startInventory, type TestInventory } from './inventory-app.ts'

// A lock on the table of products stands for statements that take long: lists wait for it until it is given back.

let inventory: TestInventory
let blocker: pg.Client
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_DB_STATEMENT_TIMEOUT_MS: '600000' })
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
  blocker = new pg.Client({ connectionString: inventory.databaseUrl })
  await blocker.connect()
})
afterAll(async () => {
  await blocker.end()
  await inventory.close()
})
beforeEach(async () => {
  await blocker.query('BEGIN')
  await blocker.query('LOCK TABLE inventory.products')
})
afterEach(async () => {
  await blocker.query('ROLLBACK')
})

/** How many lists of one client run at once. */
const LISTS_MAX = 2
const WAITING = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`

async function expectWaiting(count: number): Promise<void> {
  await vi.waitFor(async () => expect(await inventory.query(WAITING)).toEqual([{ count }]), { timeout: 60_000 })
}

/** Opens lists that stay unanswered while the table is locked. */
function openLists(count: number) {
  const port = portOf(inventory.app.server)
  const lists = Array.from({ length: count }, () => get({ port, path: '/products?attributes.a=1&count=exact' }))
  const closed = lists.map((list) => new Promise((resolve) => list.on('error', () => {}).once('close', resolve)))
  return async () => {
    for (const list of lists) list.destroy()
    await Promise.all(closed)
  }
}

describe('slow lists', () => {
  it('of one client keep no list of another client waiting', async () => {
    const leave = openLists(40)
    await expectWaiting(LISTS_MAX)
    const listed = await inventory.app.inject({ url: '/movements', remoteAddress: '192.0.2.1' })
    expect([listed.statusCode, listed.json()]).toEqual([200, { statusCode: 200, data: [] }])
    await leave()
  })

  it('keep no write waiting in a process that stays ready', async () => {
    const leave = openLists(40)
    await expectWaiting(LISTS_MAX)
    const written = await inventory.app.inject({
      method: 'POST',
      url: '/locations',
      payload: { code: 'A', name: 'A' },
    })
    expect([written.statusCode, written.json()]).toEqual([
      201,
      {
        statusCode: 201,
        data: { id: expect.any(Number), message: expect.stringMatching(/^Location \d+ was created\.$/) },
      },
    ])
    const ready = await inventory.app.inject({ url: '/ready' })
    expect([ready.statusCode, ready.json()]).toEqual([200, { status: 'ready' }])
    await leave()
  })

  it('leave no statement waiting once their clients have left', async () => {
    const leave = openLists(LISTS_MAX)
    await expectWaiting(LISTS_MAX)
    await leave()
    await expectWaiting(0)
    await blocker.query('ROLLBACK')
    const lists = await Promise.all([
      inventory.app.inject({ url: '/products?sort=-id' }),
      inventory.app.inject({ url: '/products?sku=A&count=exact' }),
    ])
    for (const { statusCode, body } of lists) expect([statusCode, body]).toEqual([200, '{"statusCode":200,"data":[]}'])
  })
})
