import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { operatorHeaders, testOperators } from '../../test/operators.ts'

const [ONE, TWO] = ['192.0.2.1', '192.0.2.2']
/** The number of connections for writes, and the share of one client. */
const [POOL, EACH] = [4, 3]
let inventory: TestInventory
beforeAll(async () => {
  const settings = {
    ...{ INVENTORY_DB_POOL_SIZE: String(POOL), INVENTORY_DB_STATEMENT_TIMEOUT_MS: '60000' },
  }
  // Clean-up is off, because it would wait for the locks of the tests.
  inventory = await startInventory(settings, { operators: testOperators, cleanUpEveryMs: 3_600_000 })
  await inventory.query(`INSERT INTO inventory.products (sku, attributes) VALUES ('P', '{}')`)
  const receipt = { type: 'receive', ...place, quantity: 100 }
  await inventory.app.inject({ method: 'POST', url: '/movements', payload: receipt })
})
afterAll(() => inventory.close())

const place = { productId: 1, locationId: 1, quantity: 1 }
/** Count waiting locks. pg_stat_activity does not change within a database transaction. */
const countWaiting = () =>
  inventory.query(`SELECT count(DISTINCT pid)::int AS count FROM pg_locks JOIN pg_database ON oid = database
    WHERE datname = current_database() AND NOT granted`)

describe('writes of one client leave connections to others', () => {
  it.each([
    ['POST', '/movements', { type: 'receive', ...place }, 201],
    ['POST', '/reservations', place, 201],
    ['POST', '/reservations/commit/999', {}, 404],
    ['DELETE', '/reservations/999', undefined, 404],
    ['POST', '/locations', { code: '', name: 'Shelf' }, 201],
    ['PATCH', '/locations/1', { name: 'Main' }, 200],
    ['DELETE', '/locations/999', undefined, 404],
  ] as const)('%s %s waits for a slot', async (method, url, payload, status) => {
    const send = (count: number) => {
      const body = payload && ('code' in payload ? { ...payload, code: `L${count}` } : payload)
      return inventory.app.inject({ method, url, ...(body && { payload: body }), remoteAddress: ONE })
    }
    await inventory.query('BEGIN')
    await inventory.query('LOCK TABLE inventory.locations, inventory.stock_levels, inventory.reservations')
    const writes = Array.from({ length: POOL + 2 }, (_, count) => send(count))
    await vi.waitFor(async () => expect(await countWaiting()).toEqual([{ count: EACH }]), { timeout: 60_000 })
    const sku = `${method} ${url}`
    const other = await inventory.app.inject({
      ...{ method: 'POST', url: '/products', remoteAddress: TWO },
      payload: { sku, attributes: '{}' },
    })
    expect([other.statusCode, await countWaiting()]).toEqual([201, [{ count: EACH }]])
    await inventory.query('COMMIT')
    expect((await Promise.all(writes)).map(({ statusCode }) => statusCode)).toEqual(writes.map(() => status))
  })
})

describe('changes of one operator', () => {
  it('leave the product that they move to its customers after two of them', async () => {
    const move = (key: string) =>
      inventory.app.inject({
        ...{ method: 'POST', url: '/movements', remoteAddress: ONE },
        headers: { ...operatorHeaders('support'), 'idempotency-key': key },
        payload: { type: 'receive', ...place },
      })
    await inventory.query('BEGIN')
    await inventory.query('LOCK TABLE inventory.stock_levels')
    const moves = ['a', 'b', 'c', 'd'].map(move)
    await vi.waitFor(async () => expect(await countWaiting()).toEqual([{ count: 2 }]), { timeout: 60_000 })
    const reserving = inventory.app.inject({
      ...{ method: 'POST', url: '/reservations', remoteAddress: TWO },
      payload: place,
    })
    await vi.waitFor(async () => expect(await countWaiting()).toEqual([{ count: 3 }]), { timeout: 60_000 })
    await inventory.query('COMMIT')
    expect((await reserving).statusCode).toBe(201)
    expect((await Promise.all(moves)).map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201])
  })
})
