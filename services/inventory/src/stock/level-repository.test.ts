import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addLocations, addProducts, openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { findLevel, findLongProductStock, findProductStock, listLevels } from './level-repository.ts'

const ABSENT = 2 ** 40
/** One more than the read pool may read. */
const MANY = 201

let stock: StockDatabase
let products: readonly number[]
let locations: readonly number[]
beforeAll(async () => {
  stock = await openStockDatabase()
  products = await addProducts(stock, 4)
  locations = await addLocations(stock, 3)
  const [one, two, deleted] = products
  const [near, far, closed] = locations
  await stock.query(
    `INSERT INTO inventory.stock_levels VALUES ($1, $4, 10, 4), ($1, $5, 3, 0), ($1, $6, 0, 0), ($2, $4, 5, 5), ($3, $4, 0, 0)`,
    [one, two, deleted, near, far, closed],
  )
  await stock.query('UPDATE inventory.products SET deleted_at = now() WHERE id = $1', [deleted])
  await stock.query('UPDATE inventory.locations SET deleted_at = now() WHERE id = $1', [closed])
})
afterAll(() => stock.close())

const product = (at: number) => products[at] ?? 0
const location = (at: number) => locations[at] ?? 0
const level = (productId: number, locationId: number, [onHand, reserved]: readonly [number, number]) => ({
  ...{ productId, locationId, onHand, reserved },
  available: onHand - reserved,
  updatedAt: anyTime,
})

describe('findLevel', () => {
  const find = (productId: number, locationId: number) => findLevel(stock.pools, { productId, locationId })

  it('finds a level with its version', async () => {
    expect(await find(product(0), location(0))).toEqual({
      level: level(product(0), location(0), [10, 4]),
      version: expect.stringMatching(/^[1-9]\d+$/),
    })
  })

  it('shows a level that never had stock as zero, in the version 0', async () => {
    expect(await find(product(3), location(0))).toEqual({
      level: { ...level(product(3), location(0), [0, 0]), updatedAt: null },
      version: '0',
    })
  })

  it('names the product before the location, and finds neither once it is deleted', async () => {
    expect([
      await find(ABSENT, ABSENT),
      await find(product(2), location(0)),
      await find(product(0), ABSENT),
      await find(product(0), location(2)),
    ]).toEqual(['product-not-found', 'product-not-found', 'location-not-found', 'location-not-found'])
  })
})

describe('findProductStock', () => {
  it('sums the levels, and lists those of live locations', async () => {
    const expected = {
      productId: product(0),
      onHand: 13,
      reserved: 4,
      available: 9,
      locations: [level(product(0), location(0), [10, 4]), level(product(0), location(1), [3, 0])],
    }
    expect(await findProductStock(stock.pools, product(0))).toEqual(expected)
    expect(await findLongProductStock(stock.db, product(0))).toEqual(expected)
  })

  it('finds no deleted product', async () => {
    expect(await findProductStock(stock.pools, product(2))).toBeUndefined()
    expect(await findLongProductStock(stock.db, product(2))).toBeUndefined()
  })

  it('gives up a product with more levels than the read pool reads', async () => {
    const [long = 0] = await addProducts(stock, 1)
    for (const id of await addLocations(stock, MANY)) {
      await stock.query('INSERT INTO inventory.stock_levels VALUES ($1, $2, 1, 0)', [long, id])
    }
    expect(await findProductStock(stock.pools, long)).toBe('long')
    expect((await findLongProductStock(stock.db, long))?.onHand).toBe(MANY)
  })
})

describe('listLevels', () => {
  const list = async (filters: Parameters<typeof listLevels>[1], page = {}) => {
    const levels = await listLevels(stock.db, filters, { after: undefined, limit: 10, ...page })
    return levels.map(({ productId, locationId }) => [products.indexOf(productId), locations.indexOf(locationId)])
  }

  it('lists levels of live products and locations, by both', async () => {
    const [one, two] = [await list({ productId: product(0) }), await list({ productId: product(1) })]
    expect([one, two, await list({ productId: product(2) })]).toEqual([
      [
        [0, 0],
        [0, 1],
      ],
      [[1, 0]],
      [],
    ])
  })

  it('lists only levels that meet all filters', async () => {
    expect(await list({ locationId: location(0), below: 6 })).toEqual([[1, 0]])
    expect(await list({ locationId: location(0), below: 7 })).toEqual([
      [0, 0],
      [1, 0],
    ])
    expect(await list({ sku: 'unknown' })).toEqual([])
  })

  it('continues after a position, up to the limit', async () => {
    const filters = { locationId: location(0) }
    expect(await list(filters, { limit: 1 })).toEqual([[0, 0]])
    expect(await list(filters, { after: [String(product(0)), String(location(0))] })).toEqual([[1, 0]])
  })
})
