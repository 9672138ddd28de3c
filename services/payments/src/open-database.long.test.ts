import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { openWire, urlThrough } from '@trestle/testing/cut-wire.ts'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createMigratedDatabase } from '../test/payments-app.ts'
import { loadPaymentsConfig } from './config.ts'
import { createProcessReadiness, openPaymentsDatabase } from './open-database.ts'

let database: TemporaryDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})
afterAll(() => database.drop())

/** The readiness of a process whose job queue never opened. The queue is checked only if the coordinator answers. */
function readinessOf(url: string, coordinatorUrl?: string) {
  const config = loadPaymentsConfig({
    PAYMENTS_DEV: 'true',
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_DATABASE_URL: url,
    ...(coordinatorUrl !== undefined && { PAYMENTS_COORDINATOR_URL: coordinatorUrl }),
  })
  const opened = openPaymentsDatabase(config, () => {})
  onTestFinished(() => opened.close())
  const jobs = { check: () => Promise.reject(new Error('the job worker does not run')) }
  const readiness = createProcessReadiness(opened, jobs, config.database)
  readiness.markReady()
  return readiness
}

/** Returns the address of a server that accepts connections and never answers, like a machine that has crashed. */
async function silentUrl(): Promise<string> {
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => sockets.add(socket.on('error', () => {})))
  const url = await urlThrough(listener, database.directUrl)
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    listener.close()
    await once(listener, 'close')
  })
  return url
}

async function refusedUrl(): Promise<string> {
  const wire = await openWire(database.directUrl)
  await wire.close()
  return wire.url
}

describe('the readiness of a process that enters a cluster by a worker', () => {
  it.each([
    ['refuses connections', refusedUrl],
    ['does not answer', silentUrl],
  ])('does not depend on a coordinator that %s', async (_what, addressOf) => {
    expect(await readinessOf(database.directUrl, await addressOf()).missing()).toBeUndefined()
  })

  it('depends on the queue of a coordinator that answers', async () => {
    const wire = await openWire(database.directUrl)
    onTestFinished(() => wire.close())
    expect(await readinessOf(database.directUrl, wire.url).missing()).toEqual({ check: 'worker' })
  })

  it('fails when the worker cannot be reached', async () => {
    expect(await readinessOf(await refusedUrl(), database.directUrl).missing()).toEqual({ check: 'database' })
  })
})
