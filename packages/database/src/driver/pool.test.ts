import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDatabaseUnavailable } from '../unavailable.ts'
import { overHosts } from './hosts.ts'
import { openPool } from './pool.ts'
import { internalsOf } from './session-settings.ts'

const SILENCE_MS = 200
const database = await createEmptyDatabase()
const proxied: Socket[] = []
/** Whether the proxy drops the data of the server, like a broken network. */
let isSilent = false
const proxy = createServer((socket) => {
  const { hostname, port } = new URL(database.directUrl)
  const server = connect(Number(port), hostname)
  proxied.push(socket, server)
  socket.pipe(server)
  server.on('data', (bytes) => isSilent || socket.write(bytes))
  for (const each of [socket, server]) each.on('error', () => {})
  socket.on('close', () => server.destroy())
  server.on('close', () => socket.destroy())
})
let pool: pg.Pool

beforeAll(async () => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(database.directUrl)
  url.host = `127.0.0.1:${portOf(proxy)}`
  pool = openPool({
    ...{ connectionString: url.href, max: 1, hosts: 1, connectionWaitMs: 60_000 },
    ...{ silenceMs: SILENCE_MS, onConnectionError: () => {} },
  })
})
afterAll(async () => {
  await pool.end()
  for (const socket of proxied) socket.destroy()
  proxy.close()
  await database.drop()
})

const pid = async (client: pg.Pool | pg.PoolClient) =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

it('keeps an idle connection, also within a transaction', async () => {
  const client = await pool.connect()
  client.on('error', () => {})
  const first = await pid(client)
  await client.query('BEGIN')
  await once(internalsOf(client).connection.stream, 'timeout')
  expect(await pid(client)).toBe(first)
  await client.query('COMMIT')
  client.release()
})

it('closes a connection that owes an answer and sends nothing', async () => {
  const first = await pid(pool)
  isSilent = true
  const error = await pid(pool).catch((thrown: unknown) => thrown)
  isSilent = false
  expect(error).toHaveProperty('message', `the database has been silent for ${SILENCE_MS} ms`)
  expect(isDatabaseUnavailable(error)).toBe(true)
  expect(await pid(pool)).not.toBe(first)
})

describe('a pool over several hosts', () => {
  /** Two servers that accept connections and close them, like a PostgreSQL server that is starting or stopping. */
  const refusing: Server[] = []
  beforeAll(async () => {
    for (let count = 0; count < 2; count += 1) {
      const server = createServer((socket) => socket.destroy())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      refusing.push(server)
    }
  })
  afterAll(() => {
    for (const server of refusing) server.close()
  })

  const openOver = (hosts: readonly string[], url = database.directUrl) => {
    const { host } = new URL(url)
    return openPool({
      ...overHosts(url.replace(host, hosts.join(','))),
      ...{ max: 1, hosts: hosts.length, silenceMs: SILENCE_MS, connectionWaitMs: 60_000, onConnectionError: () => {} },
    })
  }
  const refusingHosts = () => refusing.map((server) => `127.0.0.1:${portOf(server)}`)

  it('serves every call while hosts that accept connections refuse them', async () => {
    const { host } = new URL(database.directUrl)
    for (let time = 0; time < 8; time += 1) {
      const over = openOver([...refusingHosts(), host])
      expect(await pid(over)).toBeGreaterThan(0)
      const client = await over.connect()
      expect(await pid(client)).toBeGreaterThan(0)
      client.release()
      await over.end()
    }
  })

  it('reports an outage when all hosts refuse connections', async () => {
    const over = openOver(refusingHosts())
    const errors = [await over.query('SELECT 1').catch((error) => error), await over.connect().catch((error) => error)]
    expect(errors.map(isDatabaseUnavailable)).toEqual([true, true])
    await over.end()
  })

  it('reports at once that a host has no such database', async () => {
    const { host } = new URL(database.directUrl)
    const url = new URL(database.directUrl)
    url.pathname = '/no_such_database'
    const over = openOver([...refusingHosts(), host], url.href)
    expect(await over.connect().catch((error) => error)).toHaveProperty('code', '3D000')
    await over.end()
  })
})
