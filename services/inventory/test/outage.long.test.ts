import { connect, createServer, type Server, type Socket } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { prepared } from '@trestle/testing/temporary-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../src/app.ts'
import { loadInventoryConfig } from '../src/config.ts'
import { createDeps, type ProcessDeps } from '../src/deps.ts'
import { createInventoryLog, openInventoryTelemetry } from '../src/open-telemetry.ts'
import { startCleanUp } from '../src/use-cases/clean-up.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

/** A proxy in front of the database. When it is shut, PostgreSQL seems to be killed. */
class Door {
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  port = 0

  constructor(target: string) {
    this.#target = new URL(target)
  }

  async open(): Promise<void> {
    const server = createServer((client) => {
      const upstream = connect(Number(this.#target.port), this.#target.hostname)
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => socket.destroy())
      }
      client.on('close', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
      client.pipe(upstream).pipe(client)
    })
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve))
    this.port = portOf(server)
    this.#server = server
  }

  async shut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
    await closed
  }
}

let direct: TestInventory
let door: Door
let deps: ProcessDeps
let stopCleanUp: () => Promise<void>
let app: Awaited<ReturnType<typeof buildApp>>
beforeAll(async () => {
  direct = await startInventory()
  door = new Door(direct.databaseUrl)
  await door.open()
  const url = new URL(direct.databaseUrl)
  url.searchParams.delete('host')
  url.port = String(door.port)
  const config = loadInventoryConfig({
    INVENTORY_DATABASE_URL: url.href,
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_LOG_FILE: '/dev/null',
    INVENTORY_LOG_STDOUT: 'false',
    INVENTORY_METRICS_ENABLED: 'false',
  })
  deps = await createDeps(config, createInventoryLog(config), await openInventoryTelemetry(config))
  app = await buildApp(deps)
  stopCleanUp = startCleanUp(deps)
  deps.readiness.markReady()
})
afterAll(async () => {
  await app.close()
  await stopCleanUp()
  await deps.close()
  await door.shut()
  await direct.close()
})

const read = () => app.inject({ url: '/users' })
let serial = 0
const write = () =>
  app.inject({ method: 'POST', url: '/products', payload: { sku: `outage-${++serial}`, attributes: '{}' } })

describe('a database that goes away under load', () => {
  // ASVS 16.5.2
  it('503: answers at once in the envelope until the database is back, and loses no confirmed write', async () => {
    const confirmed: number[] = []
    const statuses = new Set<number>()
    const load = async (rounds: number) => {
      for (let round = 0; round < rounds; round++) {
        const answers = await Promise.all([write(), write(), write(), read(), read()])
        for (const answer of answers) {
          statuses.add(answer.statusCode)
          if (answer.statusCode === 201) confirmed.push(answer.json().data.id)
          if (answer.statusCode < 500) continue
          expect(answer.json()).toEqual({
            statusCode: 503,
            error: {
              type: 'SERVICE_UNAVAILABLE',
              description: 'The service is not available at the moment. Please try again.',
            },
          })
          expect(answer.headers['retry-after']).toBe('1')
        }
      }
    }
    const busy = Promise.all(Array.from({ length: 8 }, () => load(16)))
    await expect.poll(() => confirmed.length, { interval: 5 }).toBeGreaterThan(50)
    await door.shut()
    await busy
    await load(3)
    expect((await app.inject({ url: '/ready' })).json()).toEqual({
      error: { type: 'SERVICE_UNAVAILABLE', description: 'The check of database fails' },
      statusCode: 503,
    })
    expect((await app.inject({ url: '/health' })).statusCode).toBe(200)
    await door.open()
    const both = async () => [(await read()).statusCode, (await write()).statusCode]
    await expect.poll(both).toEqual([200, 201])
    await expect.poll(async () => (await app.inject({ url: '/ready' })).statusCode, { timeout: 60_000 }).toBe(200)
    expect([...statuses].sort()).toEqual([200, 201, 503])
    const rows = await direct.query('SELECT id::int FROM inventory.products')
    const stored = new Set(rows.map(({ id }) => id))
    expect(confirmed.filter((id) => !stored.has(id))).toEqual([])
  })

  it('503: gives up a statement that takes too long', async () => {
    const slow = await startInventory({ INVENTORY_DB_STATEMENT_TIMEOUT_MS: '200' })
    await slow.query('BEGIN')
    await slow.query('LOCK TABLE inventory.users, inventory.products IN ACCESS EXCLUSIVE MODE')
    const answers = [
      await slow.app.inject({ url: '/users' }),
      await slow.app.inject({ method: 'POST', url: '/products', payload: { sku: 'slow', attributes: '{}' } }),
    ]
    await slow.query('ROLLBACK')
    for (const answer of answers) {
      expect(answer.json()).toEqual({
        statusCode: 503,
        error: {
          type: 'SERVICE_UNAVAILABLE',
          description: 'The service is not available at the moment. Please try again.',
        },
      })
    }
    expect((await slow.app.inject({ url: '/users' })).statusCode).toBe(200)
    await slow.close()
  })

  it('200: lets imports and exports take longer than other statements', async () => {
    const slow = await startInventory({ INVENTORY_DB_STATEMENT_TIMEOUT_MS: '100' })
    await slow.query('BEGIN')
    await slow.query('LOCK TABLE inventory.products IN ACCESS EXCLUSIVE MODE')
    const file = { headers: { 'content-type': 'text/csv' }, payload: 'sku,attributes\nA,{}\n' }
    const transfers = Promise.all([
      slow.app.inject({ url: '/products/export' }),
      slow.app.inject({ method: 'POST', url: '/products/import', ...file }),
    ])
    const waiting = `SELECT FROM pg_locks WHERE relation = 'inventory.products'::regclass
      AND clock_timestamp() - waitstart > interval '300 milliseconds'`
    await expect.poll(() => slow.query(waiting)).toHaveLength(2)
    await slow.query('ROLLBACK')
    expect((await transfers).map(({ statusCode }) => statusCode)).toEqual([200, 200])
    await slow.close()
  })
})
