import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  addLocations,
  addProducts,
  NOBODY,
  openStockDatabase,
  type StockDatabase,
  withKey,
} from '../../test/stock-database.ts'
import {
  aboveRemaining,
  insufficientStock,
  keyMismatch,
  locationNotFound,
  productNotFound,
  reservationCommitted,
  reservationExpired,
  reservationNotFound,
  reservationReleased,
} from '../errors.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import type { NewReservation } from '../reservations/reservation.ts'
import { callReleaseReservation, callReserve } from '../reservations/reservation-repository.ts'
import { commitReservation, reserveStock } from './reserve-stock.ts'

const ABSENT = 9_007_199_254_740_991
let stock: StockDatabase
let productId: number
let locationId: number
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())
/** Creates a product with ten units on hand. */
beforeEach(async () => {
  ;[productId = 0] = await addProducts(stock, 1)
  ;[locationId = 0] = await addLocations(stock, 1)
  await callMoveStock(stock.pools, NOBODY, [{ type: 'receive', productId, locationId, quantity: 10 }])
  counted.splice(0)
})

const counted: (readonly [status: string, count: number])[] = []
const stockMetrics = {
  countMovement: () => {},
  countReservation: (status: string, count = 1) => void counted.push([status, count]),
}

/** Reserves four, unless `changes` say otherwise. @returns the answer, or the thrown error */
const reserve = (changes: Partial<NewReservation> = {}, caller = NOBODY) =>
  reserveStock(
    { pools: stock.pools, stockMetrics },
    {
      caller,
      reservation: { productId, locationId, quantity: 4, expiresInSeconds: 60, ...changes },
    },
  ).catch((error: unknown) => error)
const levels = () =>
  stock.query('SELECT on_hand, reserved FROM inventory.stock_levels WHERE product_id = $1', [productId])

/** The expected answer with a reservation without commits. */
const reserved = (
  quantity: number,
  { verdict = 'done', reference = null }: { verdict?: string; reference?: unknown } = {},
) => ({
  verdict,
  body: {
    ...{ id: expect.any(Number), productId, locationId, quantity, remaining: quantity, reference },
    ...{ status: 'active', expiresAt: anyTime, createdAt: anyTime },
  },
  quantity: null,
  line: null,
})

describe('reserveStock', () => {
  it('reserves what is available, and counts the reservation', async () => {
    expect(await reserve({ reference: 'cart 1' })).toEqual(reserved(4, { reference: 'cart 1' }))
    expect(await reserve({ quantity: 6 })).toEqual(reserved(6))
    expect(await levels()).toEqual([{ on_hand: 10, reserved: 10 }])
    expect(counted).toEqual([
      ['active', 1],
      ['active', 1],
    ])
  })

  it.each<[why: string, changes: Partial<NewReservation>, error: Error]>([
    ['an unknown product', { productId: ABSENT }, productNotFound()],
    ['an unknown location', { locationId: ABSENT }, locationNotFound()],
    ['more than is available', { quantity: 11 }, insufficientStock({ details: { available: 10 } })],
  ])('refuses %s, reserves nothing and counts nothing', async (_why, changes, error) => {
    expect(await reserve(changes)).toEqual(error)
    expect(await levels()).toEqual([{ on_hand: 10, reserved: 0 }])
    expect(counted).toEqual([])
  })

  it('answers an idempotent request as the first one, counts it once, and refuses its key for another request', async () => {
    const key = `reserve-${productId}`
    const first = await reserve({}, withKey(key, 4))
    expect(first).toEqual(reserved(4))
    const { body } = z.object({ body: z.unknown() }).parse(first)
    expect(await reserve({}, withKey(key, 4))).toEqual({ ...reserved(4, { verdict: 'replayed' }), body })
    expect(await reserve({ quantity: 5 }, withKey(key, 5))).toEqual(keyMismatch())
    expect(await levels()).toEqual([{ on_hand: 10, reserved: 4 }])
    expect(counted).toEqual([['active', 1]])
  })

  it('reserves again what a reservation has held that is due, and counts its expiry', async () => {
    await reserve({ quantity: 10 })
    await stock.query('UPDATE inventory.reservations SET expires_at = now() WHERE product_id = $1', [productId])
    expect(await reserve()).toEqual(reserved(4))
    expect(await levels()).toEqual([{ on_hand: 10, reserved: 4 }])
    expect(counted).toEqual([
      ['active', 1],
      ['expired', 1],
      ['active', 1],
    ])
  })
})

describe('commitReservation', () => {
  const counted: string[] = []
  beforeEach(() => void counted.splice(0))
  const stockMetrics = {
    countMovement: (type: string) => void counted.push(type),
    countReservation: (status: string) => void counted.push(status),
  }
  const commit = (id: number, quantity?: number) =>
    commitReservation({ pools: stock.pools, stockMetrics }, { caller: NOBODY, id, quantity })
  const reserveFor = async (quantity: number) => {
    const { body } = await callReserve(stock.pools, NOBODY, { productId, locationId, quantity, expiresInSeconds: 60 })
    return body?.id ?? 0
  }

  /** The expected JSON of the reservation of four. */
  const reservationOf = (id: number, changes: object) => ({
    ...{ id, productId, locationId, quantity: 4, reference: null, expiresAt: anyTime, createdAt: anyTime },
    ...changes,
  })

  it('counts each shipment, and the reservation once nothing of it remains', async () => {
    const id = await reserveFor(4)
    expect((await commit(id, 3)).body).toEqual(reservationOf(id, { status: 'active', remaining: 1 }))
    expect(counted).toEqual(['ship'])
    await expect(commit(id, 2)).rejects.toThrow(aboveRemaining({ details: { remaining: 1 } }))
    expect((await commit(id)).body).toEqual(reservationOf(id, { status: 'committed', remaining: 0 }))
    expect(counted).toEqual(['ship', 'ship', 'committed'])
  })

  // ASVS 2.3.1
  it('refuses a reservation that is over, also before clean-up', async () => {
    const [committed, released, due] = [await reserveFor(1), await reserveFor(1), await reserveFor(1)]
    await commit(committed)
    await callReleaseReservation(stock.pools, null, released)
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
