import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildOpenApi } from '../src/openapi.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'
import { operatorHeaders, testOperators } from './operators.ts'

const FILE = join(import.meta.dirname, '../src/openapi-examples.json')

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})

const examples: Record<string, object> = {}

/** Times of the examples begin here, and keep their distance in minutes. */
const NOON_MS = Date.UTC(2026, 2, 1, 12)
const begunMs = Date.now()
const atNoon = (time: string) =>
  new Date(NOON_MS + Math.round((Date.parse(time) - begunMs) / 60_000) * 60_000).toISOString()

/** Sends a request, and keeps it with its answer as the example of an operation. */
async function show(operationId: string, name: string, request: InjectOptions, expected = 200): Promise<void> {
  const { app } = operationId.includes('Operator') ? guarded : inventory
  const { statusCode, body } = await app.inject(request)
  expect([operationId, statusCode, body]).toEqual([operationId, expected, expect.any(String)])
  examples[operationId] = {
    [name]: {
      ...(typeof request.payload === 'object' && { request: { body: request.payload } }),
      answers: {
        [expected]: JSON.parse(settled(body).replaceAll(/20\d\d-\d\d-\d\dT[\d:.]+Z/g, atNoon)),
      },
    },
  }
}

/** An answer that is the same on each machine. */
const settled = (body: string) => body.replaceAll(/"durationMs":\d+/g, '"durationMs":12')

it('shows for each operation what the service really takes and answers', async () => {
  const post = (url: string, payload: object) => ({ method: 'POST', url, payload }) as const
  const attributes = { color: 'red', price: 19.9 }
  const shelf = { code: 'SHOP', name: 'The shop', active: true }
  await show('postProducts', 't-shirt', post('/products', { sku: 'TSHIRT-RED-M', attributes }), 201)
  await show('getProductsWithProductId', 't-shirt', { url: '/products/1' })
  const changed = { sku: 'TSHIRT-RED-L', attributes }
  await show('putProductsWithProductId', 'rename', { method: 'PUT', url: '/products/1', payload: changed })
  const patch = { attributes: { price: 17.5 } }
  await show('patchProductsWithProductId', 'cheaper', { method: 'PATCH', url: '/products/1', payload: patch })
  await show('postLocations', 'shop', post('/locations', shelf), 201)
  const rename = { name: 'The shop in the mall' }
  await show('patchLocationsWithLocationId', 'rename', { method: 'PATCH', url: '/locations/2', payload: rename })
  const received = { type: 'receive', productId: 1, locationId: 2, quantity: 10, reference: 'delivery-7' }
  await show('postMovements', 'receive', post('/movements', received), 201)
  const wanted = { productId: 1, locationId: 2, quantity: 3, expiresInSeconds: 900, reference: 'order-1042' }
  await show('postReservations', 'order', post('/reservations', wanted), 201)
  const shipped = post('/reservations/commit/1', { quantity: 2 })
  await show('postReservationsCommitWithReservationId', 'part', shipped)
  const { paths } = await buildOpenApi()
  await showRecords()
  await showImports()
  await showFiles(JSON.parse(JSON.stringify(paths)))
  await expect(`${JSON.stringify(examples, null, 2)}\n`).toMatchFileSnapshot(FILE)
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const rest = operations.map(({ operationId }) => operationId).filter((id) => !(id in examples))
  // They answer nothing, a file, pages, a version, this document, or what operators see.
  expect(rest.filter((id) => !id.startsWith('delete'))).toEqual([
    'get',
    'getDocs',
    'getOpenapiJson',
    'getOperatorAudit',
    'getOperatorLowStock',
    'getOperatorMe',
    'getOperatorOverview',
    'getProductsExport',
  ])
})

/** Shows what the changes have left: records, and lists of them. */
async function showRecords(): Promise<void> {
  await show('getProducts', 'with what include asks for', { url: '/products?include=meta,stock' })
  await show('getLocations', 'all', { url: '/locations' })
  await show('getLocationsWithLocationId', 'shop', { url: '/locations/2' })
  await show('getStock', 'all', { url: '/stock' })
  await show('getStockWithProductId', 't-shirt', { url: '/stock/1' })
  await show('getStockWithProductIdLocationId', 't-shirt in the shop', { url: '/stock/1/2' })
  await show('getMovements', 'all', { url: '/movements' })
  await show('getMovementsWithMovementId', 'receive', { url: '/movements/1' })
  await show('getReservations', 'all', { url: '/reservations' })
  await show('getReservationsWithReservationId', 'order', { url: '/reservations/1' })
  await show('getUsers', 'all', { url: '/users' })
  await show('getUsersWithUserId', 'one', { url: '/users/1' })
  await show('getHealth', 'good', { url: '/health' })
  await show('getReady', 'ready', { url: '/ready' })
}

/** Shows an import of an operator, which fails at one record. */
async function showImports(): Promise<void> {
  const headers = { ...operatorHeaders('admin'), 'content-type': 'text/csv', 'idempotency-key': 'autumn' }
  const payload = 'sku,attributes\nTSHIRT-RED-L,{}\n'
  await show('postOperatorImports', 'one product', { method: 'POST', url: '/operator/imports', headers, payload }, 202)
  const one = { url: '/operator/imports/1', headers: operatorHeaders('viewer') }
  await expect.poll(async () => (await guarded.app.inject(one)).json().data.state, { timeout: 60_000 }).toBe('done')
  await show('getOperatorImportsWithImportId', 'a SKU that is taken', one)
  await show('getOperatorImports', 'all', { ...one, url: '/operator/imports' })
}

/** The examples of files stand beside their media types. */
async function showFiles(paths: Record<string, Record<string, Files>>): Promise<void> {
  const exported = Object.entries(paths['/products/export']?.get?.responses[200].content ?? {})
  for (const [accept, { example }] of exported) {
    const { statusCode, body } = await inventory.app.inject({ url: '/products/export', headers: { accept } })
    expect([accept, statusCode, body]).toEqual([accept, 200, example])
  }
  const { requestBody, responses } = paths['/products/import']?.post ?? expect.fail('there is no import')
  const importing = (type: string) =>
    ({
      ...{ method: 'POST', url: '/products/import' },
      headers: { 'content-type': type },
      payload: requestBody.content[type]?.example ?? '',
    }) as const
  await show('postProductsImport', 'one product', importing('text/csv'))
  const lines = 'application/x-ndjson'
  const headers = { 'content-type': lines, accept: lines }
  const { body } = await inventory.app.inject({ ...importing(lines), headers })
  expect(settled(body)).toBe(responses[200].content[lines]?.example)
}

type Content = Record<string, { readonly example?: string }>
/** An operation that takes or answers files. */
interface Files {
  readonly requestBody: { readonly content: Content }
  readonly responses: { readonly 200: { readonly content: Content } }
}
