import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { portOf } from '@trestle/testing/free-port.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { importReport, refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { stockRequests } from '../../test/stock-requests.ts'
import { callImportProducts, type ImportVerdict } from './import-repository.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())

it('stores one product for each SKU of a batch, and reports every row', async () => {
  const row = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '1.0', '2'))
  const batch = fc.array(row, { minLength: 1, maxLength: 12 })
  const products = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([sku, attributes], at) => ({ line: at + 1, sku, attributes }))
  await fc.assert(
    fc.asyncProperty(batch, batch, fc.boolean(), async (before, rows, replace) => {
      await stock.query('DELETE FROM inventory.products')
      await callImportProducts(stock.db, products(before), 'replace')
      const model = new Map(before)
      const expected = rows.map(([sku, attributes]): ImportVerdict => {
        const held = model.get(sku)
        if (held === undefined || replace) model.set(sku, attributes)
        return held === undefined ? 'created' : replace && held !== attributes ? 'updated' : 'exists'
      })
      expect(await callImportProducts(stock.db, products(rows), replace ? 'replace' : 'keep')).toEqual(expected)
      const stored = await stock.query('SELECT sku, attributes::text, version FROM inventory.products')
      expect(new Map(stored.map(({ sku, attributes }) => [sku, attributes]))).toEqual(model)
      expect(stored.every(({ version }) => Number(version) <= 2)).toBe(true)
    }),
    { numRuns: 60 },
  )
})

it.each([
  { what: 'each SKU once', copies: 1 },
  { what: 'each SKU twice', copies: 2 },
])('updates existing products by batches with $what in opposite orders without a deadlock', async ({ copies }) => {
  const skus = Array.from({ length: 500 }, (_, n) => `O-${n}`)
  const store = (value: number, batch: readonly string[]) => {
    const products = Array.from({ length: copies }, () => batch).flat()
    const attributes = products.map(() => JSON.stringify(value))
    return sql`SELECT FROM inventory.import_products(true, ${products}, ${attributes})`.execute(stock.db)
  }
  await store(0, skus)
  const stored = await Promise.all(
    Array.from({ length: 40 }, (_, at) => store(at, at % 2 === 0 ? skus : skus.toReversed())),
  )
  expect(stored.every(({ rows }) => rows.length === 500 * copies)).toBe(true)
  const values = await stock.query("SELECT DISTINCT attributes FROM inventory.products WHERE sku LIKE 'O-%'")
  expect(values).toHaveLength(1)
})

let inventory: TestInventory
let requests: ReturnType<typeof stockRequests>
beforeAll(async () => {
  inventory = await startInventory()
  requests = stockRequests(inventory)
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => inventory.close())
beforeEach(async () => {
  await inventory.query('DELETE FROM inventory.stock_levels WHERE on_hand = 0')
  await inventory.query(
    'DELETE FROM inventory.products p WHERE NOT EXISTS (SELECT FROM inventory.stock_levels l WHERE l.product_id = p.id)',
  )
})

/** The default lock timeout of statements, half of the default INVENTORY_DB_STATEMENT_TIMEOUT_MS. */
const LOCK_TIMEOUT_MS = 2_500

const HEADERS = { 'content-type': 'text/csv' }
const post = (payload: string, query: string) =>
  inventory.app.inject({ method: 'POST', url: `/products/import?${query}`, headers: HEADERS, payload })

/** Begins an import without ending its file. */
function begin(query: string): ClientRequest {
  const port = portOf(inventory.app.server)
  const headers = { ...HEADERS, 'transfer-encoding': 'chunked' }
  const path = `/products/import?${query}`
  const sent = request({ host: '127.0.0.1', port, method: 'POST', path, headers, agent: false })
  sent.on('error', () => {})
  return sent
}

async function answerOf(sent: ClientRequest): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) throw new Error('no answer')
  return { status: response.statusCode, body: await text(response) }
}

const staged = async () => Number((await inventory.query('SELECT count(*) FROM inventory.import_rows'))[0]?.count)
const versionsOf = async (prefix: string) =>
  (
    await inventory.query(
      `SELECT sku, attributes::text, version FROM inventory.products WHERE sku LIKE $1 AND deleted_at IS NULL ORDER BY sku`,
      [`${prefix}%`],
    )
  ).map(({ sku, attributes, version }) => `${sku} ${attributes} ${version}`)
const rows = (prefix: string, count: number, value: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(5, '0')},"{""n"":${value}}"\n`).join('')

describe('an atomic import', () => {
  it('keeps no other request waiting while its client sends', async () => {
    await post(`sku,attributes\n${rows('W-', 1_600, 1)}`, 'mode=insert')
    const [held] = await inventory.query(`SELECT id FROM inventory.products WHERE sku = 'W-00007'`)
    const productId = await requests.addProduct()
    await requests.move({ type: 'receive', productId, locationId: 1, quantity: 100 })
    const sent = begin('mode=upsert&atomic=true')
    sent.write(`sku,attributes\n${rows('W-', 1_600, 2)}W-new,{}\n`)
    await expect.poll(staged).toBeGreaterThanOrEqual(1_500)
    const patches = Array.from({ length: 48 }, (_, n) =>
      requests.send('PATCH', `/products/${held?.id}`, { attributes: { by: n } }),
    )
    const created = requests.send('POST', '/products', { sku: 'W-new', attributes: '{"own":1}' })
    const reserved = requests.reserve({ productId, locationId: 1, quantity: 1 })
    const statuses = (await Promise.all([...patches, created, reserved])).map(({ statusCode }) => statusCode)
    expect(new Set(statuses)).toEqual(new Set([200, 201]))
    const answered = answerOf(sent)
    sent.end()
    const { status, body } = await answered
    expect([status, JSON.parse(body).data]).toEqual([
      200,
      importReport({ received: 1_601, created: 0, updated: 1_601 }),
    ])
    expect((await versionsOf('W-')).slice(7, 8)).toEqual(['W-00007 {"n": 2} 50'])
    expect((await versionsOf('W-')).at(-1)).toBe('W-new {} 2')
    expect(await staged()).toBe(0)
  })

  it('reports and stores the same as batches do, whatever the file', async () => {
    const line = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.integer({ min: 0, max: 2 }))
    const files = fc.array(line, { maxLength: 12 })
    const counts = ({ body }: { body: string }) => {
      const answer = JSON.parse(body)
      const { durationMs: _, errors, ...report } = answer.data ?? answer.error.report
      const byLine = errors.sort((one: { line: number }, other: { line: number }) => one.line - other.line)
      return { ...report, errors: byLine }
    }
    const write = (lines: readonly (readonly [string, number])[]) =>
      `sku,attributes\n${lines.map(([sku, n]) => `P-${sku},"{""n"":${n}}"\n`).join('')}`
    await fc.assert(
      fc.asyncProperty(files, files, fc.constantFrom('insert', 'upsert', 'skip'), async (before, file, mode) => {
        const results = []
        for (const how of ['dryRun=true', 'atomic=true', 'atomic=false']) {
          await inventory.query(`DELETE FROM inventory.products WHERE sku LIKE 'P-%'`)
          await post(write(before), 'mode=upsert')
          const report = counts(await post(write(file), `mode=${mode}&${how}`))
          const after = await versionsOf('P-')
          results.push({ how, report, after: after.map((product) => product.replace(/ \d+$/, '')) })
          if (how === 'dryRun=true') {
            expect(after).toEqual(await versionsOf('P-'))
          }
        }
        const [tried, whole, batches] = results
        expect(tried?.report).toEqual(batches?.report)
        expect(whole?.report).toEqual(batches?.report)
        if (batches?.report.failed === 0) expect(whole?.after).toEqual(batches.after)
        else expect(whole?.after).toEqual(tried?.after)
      }),
      { numRuns: 40 },
    )
  })

  it('stores its products beside another import of the same products in the opposite order', async () => {
    const file = (value: number, reverse: boolean) => {
      const lines = rows('T-', 1_500, value).trimEnd().split('\n')
      return `sku,attributes\n${(reverse ? lines.toReversed() : lines).join('\n')}\n`
    }
    await post(file(0, false), 'mode=insert')
    const answers = await Promise.all(
      [1, 2, 3, 4].map((value) => post(file(value, value % 2 === 0), `mode=upsert&atomic=${value < 4}`)),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200])
    expect(answers.map((answer) => answer.json().data.updated)).toEqual([1_500, 1_500, 1_500, 1_500])
    // Three files are stored as a whole, one after the other. A batch of the fourth file may replace each product.
    const values = new Set((await versionsOf('T-')).map((product) => product.replace(/^\S+ /, '')))
    expect(values.size).toBeLessThanOrEqual(2)
  })

  it('400: refuses the file when another request creates a product of it at the same moment', async () => {
    const client = new pg.Client({ connectionString: inventory.databaseUrl })
    await client.connect()
    await client.query('BEGIN')
    await client.query(`INSERT INTO inventory.products (sku, attributes) VALUES ('R-00001', '{}')`)
    const answer = post(`sku,attributes\n${rows('R-', 3, 1)}`, 'atomic=true')
    const waiting = () =>
      inventory.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'inventory-transfers'`,
      )
    await expect.poll(waiting).toHaveLength(1)
    await client.query('COMMIT')
    await client.end()
    expect((await answer).json()).toEqual({
      statusCode: 400,
      error: {
        report: importReport({
          received: 3,
          created: 2,
          failed: 1,
          errors: [
            { line: 3, sku: 'R-00001', type: 'CONFLICT', description: 'A product with this sku already exists.' },
          ],
        }),
        type: 'VALIDATION_ERROR',
        description: 'Nothing was stored, because not every record could be.',
      },
    })
    expect(await versionsOf('R-')).toEqual(['R-00001 {} 1'])
  })

  it('leaves nothing behind when its client leaves, nor when its process ends', async () => {
    const sent = begin('atomic=true')
    sent.write(`sku,attributes\n${rows('G-', 1_200, 1)}`)
    await expect.poll(staged).toBeGreaterThanOrEqual(1_000)
    sent.destroy()
    await expect.poll(staged).toBe(0)
    expect(await versionsOf('G-')).toEqual([])
    await inventory.query(`
      WITH begun AS (
        INSERT INTO inventory.imports (touched_at) VALUES (now() - interval '61 minutes'), (now()) RETURNING id
      )
      INSERT INTO inventory.import_rows SELECT id, n, n, 'x', '{}' FROM begun, generate_series(1, 6000) n`)
    await expect.poll(staged, { timeout: 60_000 }).toBe(6_000)
    expect(await inventory.query('SELECT 1 FROM inventory.imports')).toHaveLength(1)
    await inventory.query('DELETE FROM inventory.import_rows')
  })

  // ASVS 16.5.3
  it('503: stores nothing when rows of the file are gone', async () => {
    const sent = begin('atomic=true')
    sent.write(`sku,attributes\n${rows('L-', 600, 1)}`)
    await expect.poll(staged).toBeGreaterThanOrEqual(500)
    await inventory.query('DELETE FROM inventory.import_rows')
    const answered = answerOf(sent)
    sent.end()
    const { status, body } = await answered
    expect([status, JSON.parse(body)]).toEqual([
      503,
      refusedBody(503, 'SERVICE_UNAVAILABLE', 'The service is not available at the moment. Please try again.', {
        report: importReport({ received: 600, line: 601 }),
      }),
    ])
    expect(await versionsOf('L-')).toEqual([])
  })

  // ASVS 16.5.3
  it('503: mixes no rows with those of a file that begins after a crash of PostgreSQL', async () => {
    // A crash truncates unlogged tables, with the same result.
    const crash = () => inventory.query('TRUNCATE inventory.imports, inventory.import_rows RESTART IDENTITY')
    await crash()
    const sent = begin('atomic=true')
    sent.write(`sku,attributes\n${rows('L-', 600, 1)}`)
    await expect.poll(staged).toBeGreaterThanOrEqual(500)
    await crash()
    const other = begin('atomic=true')
    other.write(`sku,attributes\n${rows('M-', 600, 1)}`)
    await expect.poll(staged).toBeGreaterThanOrEqual(500)
    const [first, second] = [answerOf(sent), answerOf(other)]
    sent.end()
    const { status, body } = await first
    expect([status, JSON.parse(body)]).toEqual([
      503,
      refusedBody(503, 'SERVICE_UNAVAILABLE', 'The service is not available at the moment. Please try again.', {
        report: importReport({ received: 600, line: 601 }),
      }),
    ])
    other.end()
    expect([(await second).status, (await versionsOf('L-')).length, (await versionsOf('M-')).length]).toEqual([
      ...[200, 0, 600],
    ])
  })
})

it('changes of a product that is locked for long leave connections to other requests', async () => {
  const productId = await requests.addProduct()
  await requests.move({ type: 'receive', productId, locationId: 1, quantity: 100 })
  const client = new pg.Client({ connectionString: inventory.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query('UPDATE inventory.products SET version = version + 1 WHERE id = $1', [productId])
  const patches = Array.from({ length: 20 }, (_, n) =>
    requests.send('PATCH', `/products/${productId}`, { attributes: { by: n } }),
  )
  const waiting = () =>
    inventory.query(`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'inventory'`)
  await expect.poll(async () => (await waiting()).length).toBe(9)
  // All changes are still waiting when the reservation is answered.
  expect((await requests.reserve({ productId, locationId: 1, quantity: 1 })).statusCode).toBe(201)
  expect(await waiting()).toHaveLength(9)
  // A statement with the default lock timeout begins to wait after the changes, and fails before they do.
  const other = new pg.Client({ connectionString: inventory.databaseUrl })
  await other.connect()
  await other.query('BEGIN')
  await other.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
  const lock = other.query('SELECT FROM inventory.products WHERE id = $1 FOR UPDATE', [productId])
  await expect(lock).rejects.toHaveProperty('code', '55P03')
  await other.end()
  expect(await waiting()).toHaveLength(9)
  await client.query('COMMIT')
  await client.end()
  expect(new Set((await Promise.all(patches)).map(({ statusCode: status }) => status))).toEqual(new Set([200]))
}, 20_000)
