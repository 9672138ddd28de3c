import { afterAll, beforeAll, expect, it } from 'vitest'
import { addLocations, addProducts, NOBODY, openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { callReserve } from '../reservations/reservation-repository.ts'
import { countInventory, listLowLevels } from './overview-repository.ts'

let stock: StockDatabase
let products: number[]
let locations: number[]
beforeAll(async () => {
  stock = await openStockDatabase()
  products = await addProducts(stock, 4)
  locations = await addLocations(stock, 3)
  const [one = 0, two = 0, gone = 0] = products
  const [north = 0, south = 0, closed = 0] = locations
  const receive = (productId: number, locationId: number, quantity: number) =>
    callMoveStock(stock.pools, NOBODY, [{ type: 'receive', productId, locationId, quantity }])
  await receive(one, north, 4)
  await receive(one, south, 20)
  await receive(two, north, 4)
  const empty = async (productId: number, locationId: number) => {
    await receive(productId, locationId, 1)
    await callMoveStock(stock.pools, NOBODY, [{ type: 'ship', productId, locationId, quantity: 1 }])
  }
  await empty(gone, north)
  await empty(one, closed)
  const reserve = (quantity: number, expiresInSeconds?: number) =>
    callReserve(stock.pools, NOBODY, { productId: one, locationId: south, quantity, expiresInSeconds })
  await reserve(15)
  await reserve(2, 60)
  await stock.query(`UPDATE inventory.reservations SET expires_at = now() - interval '1 second' WHERE quantity = 2`)
  await stock.query('UPDATE inventory.products SET deleted_at = now() WHERE id = $1', [gone])
  await stock.query('UPDATE inventory.locations SET deleted_at = now() WHERE id = $1', [closed])
})
afterAll(() => stock.close())

const COUNTS = { products: 3, locations: 3, lowStock: 3, openReservations: 1 }

it('counts live products and locations, their low levels, and reservations that have not expired', async () => {
  expect(await countInventory(stock.db, stock.names, 5)).toEqual(COUNTS)
  expect(await countInventory(stock.db, stock.names, 1)).toEqual({ ...COUNTS, lowStock: 0 })
})

it('estimates the products above a hundred thousand, where a count would take seconds', async () => {
  const estimate = (rows: number) =>
    stock.query(`UPDATE pg_class SET reltuples = $1 WHERE oid = 'inventory.products_sku_key'::regclass`, [rows])
  await estimate(100_001)
  expect(await countInventory(stock.db, stock.names, 5)).toEqual({ ...COUNTS, products: 100_001 })
  await estimate(100_000)
  expect(await countInventory(stock.db, stock.names, 5)).toEqual(COUNTS)
})

it('lists low levels of live products at live locations, the lowest first, and goes on after a position', async () => {
  const [one = 0, two = 0] = products
  const [north = 0, south = 0] = locations
  const places = async (after: readonly string[] | undefined, limit: number) =>
    (await listLowLevels(stock.db, 5, { after, limit })).map(({ productId, locationId, available }) => [
      available,
      productId,
      locationId,
    ])
  const all = [
    [3, one, south],
    [4, one, north],
    [4, two, north],
  ]
  expect(await places(undefined, 10)).toEqual(all)
  expect(await places(undefined, 2)).toEqual(all.slice(0, 2))
  expect(await places(all[1]?.map(String), 2)).toEqual(all.slice(2))
})
