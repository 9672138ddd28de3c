import { createMetrics } from '@trestle/common/telemetry/metrics.ts'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callResult, shownReservation } from '../../test/bodies.ts'
import { addLocations, addProducts, NOBODY, openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { findStockFaults } from '../stock/level-repository.ts'
import { callExpireReservations, callReserve, retryAfterExpiry } from './reservation-repository.ts'
import { createStockMetrics } from './stock-metrics.ts'

const { meter } = await createMetrics({ enabled: false, exporter: 'prometheus', host: '', port: 0, resource: {} })
const stockMetrics = createStockMetrics(meter)

let stock: StockDatabase
let productId: number
let locationId: number
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(async () => {
  expect(await findStockFaults(stock.db)).toEqual([])
  await stock.close()
})

/** Creates a level whose stock is completely reserved by due reservations. */
beforeEach(async () => {
  ;[productId = 0] = await addProducts(stock, 1)
  ;[locationId = 0] = await addLocations(stock, 1)
  await callMoveStock(stock.pools, NOBODY, [{ type: 'receive', productId, locationId, quantity: 50 }])
  await Promise.all(Array.from({ length: 50 }, () => reserve(1, 60)))
  await stock.query('UPDATE inventory.reservations SET expires_at = now() WHERE product_id = $1', [productId])
})

const reserve = (quantity: number, expiresInSeconds?: number) =>
  callReserve(stock.pools, NOBODY, { productId, locationId, quantity, expiresInSeconds })
const reserveDue = (take = () => reserve(1)) => retryAfterExpiry({ pools: stock.pools, stockMetrics }, take)
const verdicts = (answers: readonly { verdict: string }[]) => [...new Set(answers.map(({ verdict }) => verdict))]

describe('stock that is due', () => {
  it('is available to all parallel requests', async () => {
    expect(verdicts(await Promise.all(Array.from({ length: 50 }, () => reserveDue())))).toEqual(['done'])
    expect(await reserveDue()).toEqual(callResult({ verdict: 'insufficient-stock', quantity: 0 }))
  })

  it('waits for another process that expires its reservation', async () => {
    const other = new pg.Client(stock.url)
    await other.connect()
    try {
      await other.query('BEGIN; SELECT inventory.expire_reservations(100)')
      const asking = Promise.all(Array.from({ length: 50 }, () => reserveDue()))
      const waiting = () =>
        stock.query(`SELECT 1 AS waits FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event = 'advisory' LIMIT 1`)
      await expect.poll(waiting, { timeout: 60_000 }).toEqual([{ waits: 1 }])
      await other.query('COMMIT')
      expect(verdicts(await asking)).toEqual(['done'])
    } finally {
      await other.end()
    }
  })

  it('is available to a request when clean-up has just expired its reservation', async () => {
    let overtaken = false
    const take = async () => {
      const answer = await reserve(1)
      if (!overtaken) await callExpireReservations(stock.pools, 100)
      overtaken = true
      return answer
    }
    expect(await reserveDue(take)).toEqual(
      callResult({ verdict: 'done', body: shownReservation({ quantity: 1, remaining: 1 }) }),
    )
  })
})
