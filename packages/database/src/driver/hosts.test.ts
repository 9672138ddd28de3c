import { createServer, type Server } from 'node:net'
import { freePort, portOf } from '@trestle/testing/free-port.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDatabaseUnavailable } from '../unavailable.ts'
import { overHosts, urlsOfHosts } from './hosts.ts'

describe('urlsOfHosts', () => {
  it.each([
    ['postgres://u:p@a:1/db?x=y', ['postgres://u:p@a:1/db?x=y']],
    ['postgres://u:p@a:1,b/db?x=y', ['postgres://u:p@a:1/db?x=y', 'postgres://u:p@b/db?x=y']],
    ['postgresql://a,[::1]:2', ['postgresql://a', 'postgresql://[::1]:2']],
    ['postgres://u:p,q@a/db', ['postgres://u:p,q@a/db']],
    ['postgres:///db?host=/a,b', ['postgres:///db?host=/a,b']],
  ])('splits %s by its hosts', (url, urls) => {
    expect(urlsOfHosts(url)).toEqual(urls)
  })
})

describe('overHosts', () => {
  let database: TemporaryDatabase
  /** A server that accepts connections and closes them. */
  let closing: Server
  beforeAll(async () => {
    database = await createEmptyDatabase()
    closing = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await new Promise((resolve) => closing.close(resolve))
    await database.drop()
  })

  const urlOver = (...ports: readonly number[]) => {
    const { host } = new URL(database.directUrl)
    return database.directUrl.replace(host, [...ports.map((port) => `127.0.0.1:${port}`), host].join(','))
  }
  /** Returns a function that connects to a URL and resolves to the port that it reached. */
  const connector = (url: string) => {
    const { Client = pg.Client, connectionString } = overHosts(url)
    return async () => {
      const client = new Client({ connectionString })
      client.on('error', () => {})
      await client.connect()
      const { port } = client
      await client.end()
      return port
    }
  }

  it('skips hosts that do not answer', async () => {
    const connect = connector(urlOver(await freePort(), await freePort()))
    const { port } = new URL(database.directUrl)
    for (let time = 0; time < 5; time += 1) expect(await connect()).toBe(Number(port))
  })

  it('asks a host last that has closed a connection', async () => {
    const connect = connector(urlOver(portOf(closing)))
    let failures = 0
    for (let time = 0; time < 12; time += 1) await connect().catch(() => (failures += 1))
    expect(failures).toBeLessThan(2)
  })

  it('reports an outage when no host answers', async () => {
    const url = `postgres://u@127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}/db`
    const refused = await connector(url)().catch((error) => error)
    expect(isDatabaseUnavailable(refused)).toBe(true)
  })
})
