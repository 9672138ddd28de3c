import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { portOf } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { refusedBody } from '../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../test/inventory-app.ts'

const PRODUCTS = 300
/** A page of 250 such products exceeds the buffers of a connection, so it waits for its client. */
const FILLER = 'x'.repeat(60_000)
const WAITING = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`
/** The smallest long page. It occupies a slot like any other. */
const SMALLEST = '/products?limit=51'
const OTHER = '192.0.2.1'
const BUSY = refusedBody(
  503,
  'SERVER_BUSY',
  'Too many imports, exports, long pages or large bodies are open at the moment.',
)
let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
  await inventory.query(
    `INSERT INTO inventory.products (sku, attributes)
      SELECT 'P-' || n, jsonb_build_object('n', n, 'filler', CASE WHEN n > 50 THEN $1 ELSE '' END)
      FROM generate_series(1, ${PRODUCTS}) n ORDER BY n`,
    [FILLER],
  )
})
afterAll(() => inventory.close())

/** Starts a separate replica, because the test may occupy all slots of long pages. */
async function startOwn(): Promise<TestReplica> {
  const own = await startReplica(inventory.databaseUrl)
  onTestFinished(own.close)
  await own.app.listen({ host: '127.0.0.1', port: 0 })
  return own
}

const productJson = (n: number) => ({ id: n, sku: `P-${n}`, attributes: { n, filler: n > 50 ? FILLER : '' } })

/** Requests a page without reading it. */
async function openPage(path: string, { app }: TestReplica = inventory): Promise<IncomingMessage> {
  const port = portOf(app.server)
  return new Promise((resolve, reject) => get({ port, path, agent: false }, resolve).once('error', reject))
}

describe('a long page', () => {
  it.each([
    ['?limit=300', PRODUCTS, 1, undefined],
    ['?limit=51', 51, 1, 'next'],
    ['?limit=299&sort=-id', 299, -1, 'next'],
    ['?limit=300&sku[prefix]=P-29', 11, 1, undefined],
  ])('200: %s shows the same products as short pages', async (query, count, direction, next) => {
    const response = await inventory.app.inject({ url: `/products${query}` })
    const all = Array.from({ length: PRODUCTS }, (_, at) => productJson(at + 1))
    const wanted = (direction < 0 ? all.reverse() : all).filter(
      ({ sku }) => !query.includes('P-29') || /^P-29/.test(sku),
    )
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers.link?.toString().includes('rel="next"')).toBe(next !== undefined)
    expect(response.json()).toEqual({ statusCode: 200, data: wanted.slice(0, count) })
  })

  it('200: is an empty list without products', async () => {
    const response = await inventory.app.inject({ url: '/products?limit=300&sku=none&count=exact' })
    expect([response.json(), response.headers['x-total-count']]).toEqual([{ statusCode: 200, data: [] }, '0'])
  })

  it('200: shows the members that include names', async () => {
    const { data } = (await inventory.app.inject({ url: '/products?limit=100&include=meta,stock' })).json()
    expect(data).toHaveLength(100)
    expect(data[99]).toEqual({
      ...productJson(100),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      version: 1,
      stock: { onHand: 0, reserved: 0, available: 0 },
    })
  })

  it('200: leaves out a product that is deleted before it is read', async () => {
    const response = await openPage('/products?limit=300&sort=-id')
    await inventory.query(`DELETE FROM inventory.products WHERE sku = 'P-1'`)
    onTestFinished(async () => {
      await inventory.query(
        `INSERT INTO inventory.products (id, sku, attributes) OVERRIDING SYSTEM VALUE VALUES (1, 'P-1', $1)`,
        [productJson(1).attributes],
      )
    })
    const { data } = JSON.parse(await text(response))
    expect(data).toEqual(Array.from({ length: PRODUCTS - 1 }, (_, at) => productJson(PRODUCTS - at)))
  })

  it('503: is refused while the client has 16 others open', async () => {
    const own = await startOwn()
    const path = '/products?limit=200&sort=-id'
    const open = await Promise.all(Array.from({ length: 16 }, () => openPage(path, own)))
    expect(new Set(open.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    const refused = await own.app.inject({ url: path })
    expect([refused.statusCode, refused.json()]).toEqual([503, BUSY])
    expect((await own.app.inject({ url: SMALLEST, remoteAddress: OTHER })).statusCode).toBe(200)
    expect((await own.app.inject({ url: '/products?limit=50' })).statusCode).toBe(200)
    for (const page of open) page.destroy()
    await expect.poll(async () => (await own.app.inject({ method: 'HEAD', url: SMALLEST })).statusCode).toBe(200)
    for (let count = 0; count < 20; count += 1) await own.app.inject({ method: 'HEAD', url: SMALLEST })
    expect((await own.app.inject({ url: SMALLEST })).statusCode).toBe(200)
  })

  it('frees its slot when the client leaves before it begins', async () => {
    const own = await startOwn()
    const port = portOf(own.app.server)
    const blocker = new pg.Client({ connectionString: inventory.databaseUrl })
    await blocker.connect()
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE inventory.products IN ACCESS EXCLUSIVE MODE')
    const left = Array.from({ length: 20 }, () => get({ port, path: '/products?limit=200&count=exact', agent: false }))
    const closed = left.map((request) => new Promise((resolve) => request.on('error', () => {}).once('close', resolve)))
    await vi.waitFor(async () => expect((await inventory.query(WAITING))[0]?.count).toBeGreaterThan(0), {
      timeout: 60_000,
    })
    for (const request of left) request.destroy()
    await Promise.all(closed)
    await blocker.end()
    await vi.waitFor(async () => expect((await inventory.query(WAITING))[0]?.count).toBe(0), { timeout: 60_000 })
    const openAll = async () => {
      const pages = await Promise.all(Array.from({ length: 16 }, () => openPage('/products?limit=200&sort=-id', own)))
      for (const page of pages) page.destroy()
      return new Set(pages.map(({ statusCode }) => statusCode))
    }
    await vi.waitFor(async () => expect(await openAll()).toEqual(new Set([200])), { timeout: 60_000, interval: 200 })
  })
})
