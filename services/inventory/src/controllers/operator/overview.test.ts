import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { envelopeOf, refusedBody } from '../../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../../test/inventory-app.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import type { InventoryDeps } from '../../deps.ts'

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
  await inventory.query(`INSERT INTO inventory.products (sku, attributes) VALUES ('A', '{}'), ('B', '{}'), ('C', '{}')`)
  await inventory.query(`UPDATE inventory.products SET deleted_at = now() WHERE sku = 'C'`)
  await inventory.query(`INSERT INTO inventory.locations (code, name) VALUES ('S', 'South')`)
  for (const [productId, locationId, quantity] of [
    [1, 1, 4],
    [1, 2, 20],
    [2, 1, 9],
  ]) {
    await post('/movements', { type: 'receive', productId, locationId, quantity })
  }
  await post('/reservations', { productId: 1, locationId: 2, quantity: 15 })
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})

const post = (url: string, payload: object) => inventory.app.inject({ method: 'POST', url, payload })
const get = async (url: string) => {
  const answer = await guarded.app.inject({ url, headers: operatorHeaders('viewer') })
  return { status: answer.statusCode, body: answer.json() }
}
it('200: GET /operator/overview counts what there is', async () => {
  const data = { products: 2, locations: 2, lowStock: 3, openReservations: 1, health: { database: 'ok', queue: 'ok' } }
  expect(await get('/operator/overview')).toEqual({ status: 200, body: { statusCode: 200, data } })
  expect(await get('/operator/overview?below=5')).toEqual({
    status: 200,
    body: { statusCode: 200, data: { ...data, lowStock: 1 } },
  })
})

it('200: GET /operator/overview tells that the database does not answer, without counts', async () => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1 })
  const away: InventoryDeps['db'] = new Kysely({ dialect: new PostgresDialect({ pool }) })
  const readLagging: InventoryDeps['readLagging'] = (read) => read(away)
  const cut = await startReplica(inventory.databaseUrl, {}, { operators: testOperators, db: away, readLagging })
  const answer = await cut.app.inject({ url: '/operator/overview', headers: operatorHeaders('viewer') })
  expect(envelopeOf(answer)).toEqual({
    statusCode: 200,
    data: { health: { database: 'does not answer', queue: 'ok' } },
  })
  await away.destroy()
  await cut.close()
})

it('404: refuses the overview, the low stock and the audit log without operator keys', async () => {
  const headers = operatorHeaders('viewer')
  const answers = ['/operator/overview', '/operator/low-stock', '/operator/audit'].map((url) =>
    inventory.app.inject({ url, headers }),
  )
  const refused = [404, refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist.')]
  expect((await Promise.all(answers)).map(({ statusCode, json }) => [statusCode, json()])).toEqual([
    refused,
    refused,
    refused,
  ])
})
