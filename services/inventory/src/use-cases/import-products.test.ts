import { request } from 'node:http'
import { portOf } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, importReport, refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
let holder: pg.Client
beforeAll(async () => {
  inventory = await startInventory()
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => inventory.close())
beforeEach(async () => {
  await inventory.query('DELETE FROM inventory.products')
  holder = new pg.Client({ connectionString: inventory.databaseUrl })
  await holder.connect()
})
afterEach(() => holder.end())

const [CLIENT, OTHER] = ['192.0.2.1', '192.0.2.2']
const HELD = { sku: 'HELD', attributes: '{}' }
const url = '/products/import?mode=upsert'
const headers = { 'content-type': 'application/x-ndjson' }
const importLines = (remoteAddress: string, ...lines: readonly object[]) => {
  const payload = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  return inventory.app.inject({ method: 'POST', url, headers, remoteAddress, payload })
}
const createProduct = (remoteAddress: string, payload: object) =>
  inventory.app.inject({ method: 'POST', url: '/products', remoteAddress, payload })

/** Returns the number of statements that wait for the lock of a product. */
const waiting = async (application: string) =>
  (
    await inventory.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = $1`,
      [application],
    )
  ).length
const polled = { timeout: 60_000 }

/** Creates a product that is locked until `holder` commits. */
async function holdProduct(): Promise<number> {
  const { id } = (await createProduct(CLIENT, HELD)).json().data
  await holder.query('BEGIN')
  await holder.query('SELECT FROM inventory.products WHERE id = $1 FOR UPDATE', [id])
  return id
}

describe('an import', () => {
  it('ends when its client leaves, and its batch is not stored', async () => {
    await holdProduct()
    const port = portOf(inventory.app.server)
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: url, headers, agent: false })
    sent.on('error', () => {})
    sent.end(`${JSON.stringify({ sku: 'HELD', attributes: { by: 'import' } })}\n`)
    await expect.poll(() => waiting('inventory-transfers'), polled).toBe(1)
    sent.destroy()
    await expect.poll(() => waiting('inventory-transfers'), polled).toBe(0)
    await holder.query('COMMIT')
    expect(await inventory.query('SELECT sku, attributes::text FROM inventory.products')).toEqual([HELD])
  })

  it('of one client never keep the imports of another waiting', async () => {
    await holdProduct()
    const own = Array.from({ length: 8 }, () => importLines(CLIENT, { sku: 'HELD', attributes: { by: 'import' } }))
    await expect.poll(() => waiting('inventory-transfers'), polled).toBe(2)
    const answer = await importLines(OTHER, { sku: 'FREE', attributes: {} })
    expect(answer.json().data).toEqual(importReport({ received: 1, created: 1 }))
    expect(await waiting('inventory-transfers')).toBe(2)
    await holder.query('COMMIT')
    expect((await Promise.all(own)).map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 8 }, () => 200))
  })
})

it('an atomic import keeps neither dry runs nor failed imports waiting', async () => {
  await holdProduct()
  const send = (remoteAddress: string, query: string, payload: string) =>
    inventory.app.inject({ method: 'POST', url: `${url}&${query}`, headers, remoteAddress, payload })
  const whole = send(CLIENT, 'atomic=true', JSON.stringify({ sku: 'HELD', attributes: { by: 'import' } }))
  await expect.poll(() => waiting('inventory-transfers'), polled).toBe(1)
  const free = JSON.stringify({ sku: 'FREE', attributes: {} })
  for (const client of [CLIENT, OTHER]) {
    const tried = await send(client, 'dryRun=true', free)
    expect(tried.json().data).toEqual(importReport({ received: 1, created: 1 }))
    const failed = await send(client, 'atomic=true', `${free}\n{}`)
    expect(failed.json().error.report).toEqual(
      importReport({
        received: 2,
        created: 1,
        failed: 1,
        errors: [{ line: 2, sku: null, type: 'VALIDATION_ERROR', description: 'sku: is required' }],
      }),
    )
  }
  expect(await waiting('inventory-transfers')).toBe(1)
  await holder.query('COMMIT')
  expect((await whole).json().data).toEqual(importReport({ received: 1, updated: 1 }))
})

describe('changes of a locked product', () => {
  it('keep no other client waiting', async () => {
    const id = await holdProduct()
    const patch = (by: number) =>
      ({ method: 'PATCH', url: `/products/${id}`, payload: { attributes: { by } } }) as const
    const own = Array.from({ length: 20 }, (_, by) => inventory.app.inject({ ...patch(by), remoteAddress: CLIENT }))
    // 12 of the 16 write connections are for products, and 9 of these are for one client.
    await expect.poll(() => waiting('inventory'), polled).toBe(9)
    const created = await createProduct(OTHER, { sku: 'FREE', attributes: '{}' })
    const free = { url: `/products/${created.json().data.id}`, remoteAddress: OTHER }
    const changed = await inventory.app.inject({ ...free, method: 'PATCH', payload: { attributes: { n: 1 } } })
    const deleted = await inventory.app.inject({ ...free, method: 'DELETE' })
    expect([created, changed, deleted].map(({ statusCode }) => statusCode)).toEqual([201, 200, 204])
    expect(await waiting('inventory')).toBe(9)
    await holder.query('COMMIT')
    await Promise.all(own)
  })
})

const CSV_FILE = { type: 'text/csv', text: 'sku,attributes\nA,{}\nB,{\nC,{}\n', wrong: 3 }
const NDJSON_FILE = {
  type: 'application/x-ndjson',
  text: '{"sku":"A","attributes":{}}\n{"sku":"B","attributes":"{"}\n{"sku":"C","attributes":{}}\n',
  wrong: 2,
}

it.each([
  ['CSV', CSV_FILE, '', ['A', 'C']],
  ['NDJSON', NDJSON_FILE, '', ['A', 'C']],
  ['atomic', CSV_FILE, '?atomic=true', []],
])(
  '413: counts the records in front of one that is too long: %s',
  async (_case, { type, text, wrong }, query, skus) => {
    const answer = await inventory.app.inject({
      method: 'POST',
      url: `/products/import${query}`,
      headers: { 'content-type': type },
      payload: `${text}${'x'.repeat(1_100_000)}`,
    })
    const line = wrong + 2
    const errors = [{ line: wrong, sku: 'B', type: 'VALIDATION_ERROR', description: expect.any(String) }]
    expect(envelopeOf(answer)).toEqual(
      refusedBody(413, 'PAYLOAD_TOO_LARGE', `The record on line ${line} is longer than 1048576 characters.`, {
        report: importReport({ received: 3, created: skus.length, failed: 1, line, errors }),
      }),
    )
    const stored = await inventory.query('SELECT sku FROM inventory.products ORDER BY id')
    expect(stored.map(({ sku }) => sku)).toEqual(skus)
  },
)
