import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGate } from '../src/rate-limits/concurrency-limits.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'
import { stockRequests } from './stock-requests.ts'

const [SMALL, LARGE] = [20, 10]
const FILLER = 'x'.repeat(60_000)
const PLACES = 201
let inventory: TestInventory
/** A replica whose slots of lists are all taken. */
let busy: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  const listReads = openGate({ slots: 1, patienceMs: 1 })
  await listReads.enter()
  busy = await startReplica(inventory.databaseUrl, {}, { listReads: listReads })
  await inventory.query(
    `INSERT INTO inventory.products (sku, attributes)
      SELECT 'P-' || n, jsonb_build_object('filler', CASE WHEN n > ${SMALL} THEN $1 ELSE '' END)
      FROM generate_series(1, ${SMALL + LARGE}) n ORDER BY n`,
    [FILLER],
  )
  await inventory.query(
    `INSERT INTO inventory.locations (code, name) SELECT 'L' || n, 'Shelf' FROM generate_series(2, ${PLACES}) n`,
  )
  const line = (productId: number, locationId: number) => ({ type: 'receive', productId, locationId, quantity: 3 })
  const lines = Array.from({ length: PLACES }, (_, at) => [line(1, at + 1), line(2, at + 1)])
    .flat()
    .slice(0, -1)
  const { move } = stockRequests(inventory)
  for (let at = 0; at < lines.length; at += 100) await move({ lines: lines.slice(at, at + 100) })
})
afterAll(async () => {
  await busy.close()
  await inventory.close()
})

const REFUSED = {
  statusCode: 503,
  error: { type: 'SERVICE_UNAVAILABLE', description: 'The service is not available at the moment. Please try again.' },
}
const product = (id: number) => ({ id, sku: `P-${id}`, attributes: { filler: id > SMALL ? FILLER : '' } })
const products = (count: number) => ({
  statusCode: 200,
  data: Array.from({ length: count }, (_, at) => product(at + 1)),
})
const stock = (productId: number, places: number) => {
  const sums = { onHand: 3, reserved: 0, available: 3 }
  const locations = Array.from({ length: places }, (_, at) => ({
    ...{ productId, locationId: at + 1, ...sums, updatedAt: expect.any(String) },
  }))
  return { statusCode: 200, data: { productId, onHand: 3 * places, reserved: 0, available: 3 * places, locations } }
}

describe('the read pool', () => {
  it.each([
    ['/products?limit=20', products(20)],
    ['/stock/2', stock(2, PLACES - 1)],
    ['/stock/3', stock(3, 0)],
  ])('reads %s without a slot of lists', async (url, body) => {
    expect((await inventory.app.inject({ url })).json()).toEqual(body)
    expect((await busy.app.inject({ url })).json()).toEqual(body)
  })

  it.each([
    ['/products?limit=30', products(30)],
    ['/products?limit=29', products(29)],
    ['/stock/1', stock(1, PLACES)],
  ])('leaves %s to the limit of lists', async (url, body) => {
    const response = await inventory.app.inject({ url })
    expect(response.json()).toEqual(body)
    expect(String(response.headers.link).includes('rel="next"')).toBe(url.endsWith('29'))
    expect((await busy.app.inject({ url })).json()).toEqual(REFUSED)
  })
})
