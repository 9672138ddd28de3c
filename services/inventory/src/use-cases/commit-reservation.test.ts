import { anyTime } from '@trestle/testing/any-value.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addLocations, addProducts, NOBODY, openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import {
  aboveRemaining,
  reservationCommitted,
  reservationExpired,
  reservationNotFound,
  reservationReleased,
} from '../errors.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { callReleaseReservation, callReserve } from '../reservations/reservation-repository.ts'
import { commitReservation } from './commit-reservation.ts'

const ABSENT = 9_007_199_254_740_991
let stock: StockDatabase
let productId: number
let locationId: number
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())
beforeEach(async () => {
  ;[productId = 0] = await addProducts(stock, 1)
  ;[locationId = 0] = await addLocations(stock, 1)
  await callMoveStock(stock.lanes, NOBODY, [{ type: 'receive', productId, locationId, quantity: 10 }])
  counted.splice(0)
})

const counted: string[] = []
const stockMetrics = {
  countMovement: (type: string) => void counted.push(type),
  countReservation: (status: string) => void counted.push(status),
}
const commit = (id: number, quantity?: number) =>
  commitReservation({ lanes: stock.lanes, stockMetrics }, { caller: NOBODY, id, quantity })
async function reserve(quantity: number): Promise<number> {
  const { body } = await callReserve(stock.lanes, NOBODY, { productId, locationId, quantity, expiresInSeconds: 60 })
  return body?.id ?? 0
}

/** The reservation of four, as the answer shows it. */
const reservationOf = (id: number, changes: object) => ({
  ...{ id, productId, locationId, quantity: 4, reference: null, expiresAt: anyTime, createdAt: anyTime },
  ...changes,
})

describe('commitReservation', () => {
  it('counts each shipment, and the reservation once nothing of it remains', async () => {
    const id = await reserve(4)
    expect((await commit(id, 3)).body).toEqual(reservationOf(id, { status: 'active', remaining: 1 }))
    expect(counted).toEqual(['ship'])
    await expect(commit(id, 2)).rejects.toThrow(aboveRemaining({ details: { remaining: 1 } }))
    expect((await commit(id)).body).toEqual(reservationOf(id, { status: 'committed', remaining: 0 }))
    expect(counted).toEqual(['ship', 'ship', 'committed'])
  })

  // ASVS 2.3.1
  it('refuses a reservation that is over, also before clean-up', async () => {
    const [committed, released, due] = [await reserve(1), await reserve(1), await reserve(1)]
    await commit(committed)
    await callReleaseReservation(stock.lanes, null, released)
    await stock.query('UPDATE inventory.reservations SET expires_at = now() WHERE id = $1', [due])
    counted.splice(0)
    await expect(commit(committed)).rejects.toThrow(reservationCommitted())
    await expect(commit(released)).rejects.toThrow(reservationReleased())
    await expect(commit(due)).rejects.toThrow(reservationExpired())
    await expect(commit(ABSENT)).rejects.toThrow(reservationNotFound())
    expect(counted).toEqual([])
    const levels = await stock.query('SELECT on_hand FROM inventory.stock_levels WHERE product_id = $1', [productId])
    expect(levels).toEqual([{ on_hand: 9 }])
  })
})
