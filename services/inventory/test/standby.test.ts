import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'

// The standby is a separate database that claims to be up to date. Each of the two has rows that the other lacks, so every
// answer shows which of the two was read.

let primary: TestInventory
let standby: TestInventory
let replica: TestReplica

beforeAll(async () => {
  standby = await startInventory()
  primary = await startInventory()
  await create(primary, '/products', { sku: 'P-1', attributes: { colour: 'red' } })
  for (const sku of ['S-1', 'S-2']) await create(standby, '/products', { sku, attributes: { colour: 'red' } })
  await create(standby, '/locations', { code: 'SHOP', name: 'Shop' })
  await create(standby, '/movements', { type: 'receive', productId: 1, locationId: 1, quantity: 5 })
  await create(standby, '/reservations', { productId: 1, locationId: 1, quantity: 2 })
  await standby.query(`UPDATE inventory.users SET username = 'else' WHERE id = 1`)
  replica = await startReplica(primary.databaseUrl, {
    INVENTORY_DB_READ_URL: standby.databaseUrl,
    INVENTORY_DB_READ_LAG_MAX: '60s',
  })
  const messages = async () => (await replica.logLines()).map(({ msg }) => msg)
  await vi.waitFor(async () => expect(await messages()).toContain('the standby serves lists'), { timeout: 60_000 })
})
afterAll(async () => {
  await replica.close()
  await primary.close()
  await standby.close()
})

async function create({ app }: TestReplica, url: string, payload: object): Promise<void> {
  const response = await app.inject({ method: 'POST', url, payload })
  expect([response.statusCode, response.body]).toEqual([201, expect.anything()])
}

const ask = async ({ app }: TestReplica, url: string) => {
  const { statusCode, body, headers } = await app.inject({ url })
  return { statusCode, body, total: headers['x-total-count'] }
}

describe('with a standby', () => {
  it.each([
    '/products',
    '/products?attributes.colour=red&sort=sku',
    '/products?sku=S-2&include=stock',
    '/products?count=exact',
    '/locations',
    '/stock',
    '/movements',
    '/reservations',
    '/users',
  ])('200: reads the list %s from the standby', async (url) => {
    const answer = await ask(replica, url)
    expect(answer).toEqual(await ask(standby, url))
    expect(answer.statusCode).toBe(200)
    expect(answer).not.toEqual(await ask(primary, url))
  })

  it.each([
    '/products/1',
    '/products/2',
    '/locations/2',
    '/stock/1',
    '/stock/1/1',
    '/movements/1',
    '/reservations/1',
    '/users/1',
  ])('reads %s from the primary', async (url) => {
    const answer = await ask(replica, url)
    expect(answer).toEqual(await ask(primary, url))
    expect(answer).not.toEqual(await ask(standby, url))
  })

  it('reads the export from the primary', async () => {
    expect(await ask(replica, '/products/export')).toEqual(await ask(primary, '/products/export'))
  })
})

it('200: reads lists from the primary when the standby is away', async () => {
  const alone = await startReplica(primary.databaseUrl, { INVENTORY_DB_READ_URL: 'postgres://nobody@127.0.0.1:1/none' })
  onTestFinished(() => alone.close())
  expect(await ask(alone, '/products')).toEqual(await ask(primary, '/products'))
  expect(await ask(alone, '/movements')).toEqual(await ask(primary, '/movements'))
})
