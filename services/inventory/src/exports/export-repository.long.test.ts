import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { requestLine } from '../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../test/inventory-app.ts'
import { Slots } from '../rate-limits/concurrency-limits.ts'

/** About 13 MB of products, three times the size of a connection's buffers. */
const PRODUCTS = 200
let inventory: TestInventory
const sockets: Socket[] = []
beforeAll(async () => {
  inventory = await startInventory()
  await inventory.query(
    `INSERT INTO inventory.products (sku, attributes)
     SELECT 'S-' || n, jsonb_build_object('text', repeat('x', 64000)) FROM generate_series(1, ${PRODUCTS}) n`,
  )
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await inventory.close()
})

/** Requests an export without reading the answer, so that only the buffers of the operating system fill. */
async function stall({ app }: TestReplica): Promise<Socket> {
  const port = portOf(app.server)
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  const begun = new Promise((resolve) => socket.once('readable', resolve))
  socket.write('GET /products/export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await begun
  return socket
}

it('exports that no client reads hold no transaction, and keep no other client out', async () => {
  for (let n = 0; n < 6; n++) await stall(inventory)
  const open = () =>
    inventory.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'inventory-transfers' AND xact_start IS NOT NULL`,
    )
  await expect.poll(open, { timeout: 60_000 }).toEqual([])
  const headers = { 'content-type': 'text/csv' }
  const imported = await inventory.app.inject({
    method: 'POST',
    url: '/products/import',
    headers,
    payload: 'sku,attributes\nnew,{}\n',
  })
  expect(imported.json().data.created).toBe(1)
  const exported = await inventory.app.inject({ url: '/products/export?sku=new' })
  expect([exported.statusCode, exported.body.length > 0]).toEqual([200, true])
})

it('a slow client gets the snapshot of the beginning', async () => {
  const socket = await stall(inventory)
  await expect
    .poll(() =>
      inventory.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'inventory-transfers' AND xact_start IS NOT NULL`,
      ),
    )
    .toEqual([])
  await inventory.query(`UPDATE inventory.products SET attributes = '{"changed":true}' WHERE sku = 'S-${PRODUCTS}'`)
  const answer = await text(socket)
  expect(answer.endsWith('\r\n0\r\n\r\n')).toBe(true)
  expect(answer.match(/"sku":"S-/g)).toHaveLength(PRODUCTS)
  expect(answer.includes('changed')).toBe(false)
})

// ASVS 15.2.2
it('503: refuses an export beyond the limit, and logs that as expected', async () => {
  const replica = await startReplica(inventory.databaseUrl, {}, { exports: new Slots({ all: 2, each: 1 }) })
  await replica.app.listen({ host: '127.0.0.1', port: 0 })
  const socket = await stall(replica)
  const headers = { 'x-request-id': 'busy' }
  const refused = await replica.app.inject({ url: '/products/export', headers })
  expect([refused.statusCode, refused.headers['retry-after'], refused.json()]).toEqual([
    503,
    '5',
    {
      statusCode: 503,
      error: {
        type: 'SERVER_BUSY',
        description: 'Too many imports, exports, long pages or large bodies are open at the moment.',
      },
    },
  ])
  const lines = (await replica.logLines()).filter(({ request_id }) => request_id === 'busy')
  expect(lines).toEqual([
    requestLine({
      level: 'error',
      request_id: 'busy',
      method: 'GET',
      path: '/products/export',
      route: '/products/export',
      status: 503,
      error_code: 'SERVER_BUSY',
    }),
  ])
  // The other slot is for clients at other addresses.
  const other = await replica.app.inject({ url: '/products/export?sku=none', remoteAddress: '10.0.0.1' })
  expect(other.statusCode).toBe(200)
  socket.destroy()
  await expect.poll(async () => (await replica.app.inject({ url: '/products/export?sku=none' })).statusCode).toBe(200)
  await replica.close()
})
