import { createMetrics } from '@trestle/common/telemetry/metrics.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addProducts, NOBODY, openStockDatabase, type StockDatabase, withKey } from '../../test/stock-database.ts'
import { CleanUpWatch } from '../reservations/clean-up-watch.ts'
import { callReserve } from '../reservations/reservation-repository.ts'
import { createStockMetrics } from '../reservations/stock-metrics.ts'
import { cleanUp, startCleanUp } from './clean-up.ts'

let stock: StockDatabase
let productId: number
const stops: (() => Promise<void>)[] = []
const logged: object[] = []
const { meter } = await createMetrics({ enabled: false, exporter: 'prometheus', host: '', port: 0, resource: {} })
beforeEach(async () => {
  stock = await openStockDatabase()
  ;[productId = 0] = await addProducts(stock, 1)
  await stock.query(`INSERT INTO inventory.stock_levels VALUES ($1, 1, 1000)`, [productId])
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  logged.splice(0)
  await stock.close()
})

const outcomes = meter.createCounter('jobs_total')
const log = (fields: object) => logged.push(fields)
const depsWith = (pools: StockDatabase['pools'], cleanUpWatch: CleanUpWatch) => ({
  pools,
  outcomes,
  cleanUpWatch,
  stockMetrics: createStockMetrics(meter),
  logger: { info: log, warn: log },
})
const run = (pools = stock.pools) => cleanUp(depsWith(pools, new CleanUpWatch(60_000)))
/** Starts the clean-up of a process. It is stopped at the end of the test at the latest. */
function startProcess(cleanUpWatch: CleanUpWatch, pools = stock.pools): () => Promise<void> {
  const stop = startCleanUp({ ...depsWith(pools, cleanUpWatch), meter, config: { cleanUpEveryMs: 20 } })
  stops.push(stop)
  return stop
}
const reserve = () =>
  callReserve(stock.pools, NOBODY, { productId, locationId: 1, quantity: 1, expiresInSeconds: 3_600 })
const reserved = async () => (await stock.query('SELECT reserved FROM inventory.stock_levels'))[0]?.reserved

/** Adds imports of a given age, each with a piece of its file. */
async function addImports(rows: readonly (readonly [state: string, age: string])[]): Promise<void> {
  for (const [state, age] of rows) {
    await stock.query(
      `WITH added AS (
         INSERT INTO inventory.operator_imports
           (state, created_at, touched_at, ended_at, format, mode, storing, actor_id, actor_email, key_name, role, address)
         SELECT $1, at, at, CASE WHEN $1 = 'done' THEN at END, 'csv', 'skip', 'batches', gen_random_uuid(), '', '', '', ''
         FROM (SELECT now() - $2::interval AS at) t RETURNING id
       )
       INSERT INTO inventory.import_pieces SELECT id, 0, 'x' FROM added`,
      [state, age],
    )
  }
}
const imports = () =>
  stock.query(`SELECT id, state, error,
      (SELECT count(*) FROM inventory.import_pieces WHERE import_id = i.id) AS pieces
    FROM inventory.operator_imports i ORDER BY id`)

describe('cleanUp', () => {
  it('expires every due reservation, and no other', async () => {
    for (let count = 0; count < 250; count++) await reserve()
    await stock.query(`UPDATE inventory.reservations SET expires_at = now() WHERE id > 30`)
    await run()
    expect(await reserved()).toBe(30)
    expect(logged).toEqual([{ event: 'reservation.expired', count: 220 }])
    expect(await stock.query(`SELECT status, count(*) FROM inventory.reservations GROUP BY 1 ORDER BY 1`)).toEqual([
      { status: 'active', count: 30 },
      { status: 'expired', count: 220 },
    ])
  })

  it('repeats by itself, in several processes', async () => {
    startProcess(new CleanUpWatch(60_000))
    startProcess(new CleanUpWatch(60_000))
    await reserve()
    await stock.query(`UPDATE inventory.reservations SET expires_at = now() WHERE status = 'active'`)
    await expect.poll(reserved).toBe(0)
  })

  it('counts as running from its start to its stop, on which the readiness of the process depends', async () => {
    const cleanUpWatch = new CleanUpWatch(60_000)
    expect(() => cleanUpWatch.check()).toThrow('nothing ends reservations that are due')
    const stop = startProcess(cleanUpWatch)
    expect(() => cleanUpWatch.check()).not.toThrow()
    await stop()
    expect(() => cleanUpWatch.check()).toThrow('nothing ends reservations that are due')
  })

  it('deletes imports of operators after 30 days, and files that broke off an hour ago', async () => {
    await addImports([
      ['done', '30 days 1 minute'],
      ['done', '29 days'],
      ['arriving', '61 minutes'],
      ['arriving', '59 minutes'],
    ])
    await run()
    expect(await imports()).toEqual([
      { id: 2, state: 'done', error: null, pieces: 1 },
      { id: 4, state: 'arriving', error: null, pieces: 1 },
    ])
  })

  it('ends imports of operators as failed that made no progress for a day', async () => {
    await addImports([
      ['waiting', '25 hours'],
      ['running', '25 hours'],
      ['running', '23 hours'],
    ])
    await run()
    const error = {
      type: 'SERVER_ERROR',
      description: 'The import could not be finished. The report counts what was stored.',
    }
    expect(await imports()).toEqual([
      { id: 1, state: 'failed', error, pieces: 0 },
      { id: 2, state: 'failed', error, pieces: 0 },
      { id: 3, state: 'running', error: null, pieces: 1 },
    ])
  })

  it('deletes keys after a day', async () => {
    const keys = async () => (await stock.query('SELECT key FROM inventory.idempotency_keys')).map(({ key }) => key)
    for (const key of ['old', 'young'])
      await callReserve(stock.pools, withKey(key, 1), { productId, locationId: 1, quantity: 1 })
    await stock.query(`UPDATE inventory.idempotency_keys SET created_at = now() - interval '25 h' WHERE key = 'old'`)
    await run()
    expect(await keys()).toEqual(['young'])
  })

  it('reports a run that is stuck, until it goes on', async () => {
    const answer = Promise.withResolvers<never>()
    const cleanUpWatch = new CleanUpWatch(70)
    startProcess(cleanUpWatch, { ...stock.pools, write: { ...stock.pools.write, one: () => answer.promise } })
    cleanUpWatch.check()
    const check = async () => cleanUpWatch.check()
    const problem = () => check().catch(({ message }: Error) => message)
    await expect.poll(problem).toBe('nothing ends reservations that are due')
    answer.reject(new Error('away'))
    await expect.poll(problem).toBeUndefined()
  })

  it('runs again after a failure', async () => {
    const failing = { one: () => Promise.reject(new Error('away')), first: undefined, all: undefined }
    await run({ ...stock.pools, write: { ...stock.pools.write, one: failing.one } })
    const err = new Error('away')
    expect(logged).toEqual([
      { err, task: 'reservation_expiry' },
      { err, task: 'key_clean_up' },
      { err, task: 'import_clean_up' },
    ])
  })
})
