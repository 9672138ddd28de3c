import { type BatchObservableCallback, createNoopMeter, type Observable } from '@opentelemetry/api'
import { openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { expect, it } from 'vitest'
import { observeServers } from './open-telemetry.ts'

it('reports the only server of a database that is not distributed', async () => {
  const database = await createEmptyDatabase()
  const opened = openDatabase<object>({
    url: database.url,
    names: createNames('payments', ''),
    ...{ applicationName: 'observe-servers', poolSize: 1, role: undefined, prepared: true },
    ...{ statementTimeoutMs: 5_000, writeTimeoutMs: 5_000, lockTimeoutMs: 5_000 },
    onConnectionError: () => {},
  })
  let observe: BatchObservableCallback | undefined
  const noop = createNoopMeter()
  const names = new Map<Observable, string>()
  const create = (name: string) => {
    const observable = noop.createObservableGauge(name)
    // The no-op meter returns the same observable for every name. Copy it to tell the names apart.
    const own = { ...observable }
    names.set(own, name)
    return own
  }
  observeServers(
    {
      ...noop,
      createObservableGauge: create,
      createObservableCounter: create,
      addBatchObservableCallback: (callback) => {
        observe = callback
      },
    },
    { db: opened.db.withoutPlugins(), names: opened.names },
  )
  const seen: unknown[] = []
  await observe?.({ observe: (metric, value, labels) => void seen.push([names.get(metric), value, labels]) })
  expect(seen).toEqual([
    ['db_server_up', 1, { server: 'single' }],
    ['db_server_shards', 0, { server: 'single' }],
    ['db_server_transactions_total', expect.any(Number), { server: 'single' }],
    ['db_server_in_doubt', 0, { server: 'single' }],
  ])
  await opened.close()
  await database.drop()
})
