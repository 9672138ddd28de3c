import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { loadInventoryConfig } from '../config.ts'
import { mergedTooLarge, mergedTooManyKeys, productChanged, productNotFound, validationError } from '../errors.ts'
import { type ChangeProductInput, changeProduct } from './change-products.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())

/** Adds a product with these attributes. */
async function add(attributes: object): Promise<number> {
  const rows = await stock.query(
    `INSERT INTO inventory.products (sku, attributes) VALUES ('P' || gen_random_uuid(), $1) RETURNING id`,
    [JSON.stringify(attributes)],
  )
  return Number(rows[0]?.id)
}
const rowOf = (id: number) =>
  stock.query('SELECT sku, version, revision, updated_at, attributes::text FROM inventory.products WHERE id = $1', [id])
function change(id: number, attributes: string, changes: Partial<ChangeProductInput> = {}) {
  const config = loadInventoryConfig({ INVENTORY_DATABASE_URL: stock.url })
  const input = { id, versions: undefined, attributes, mode: 'replace', ...changes } as const
  return changeProduct({ ...stock, config }, input)
}
const keys = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 0]))
const nested = (depth: number): object => (depth === 0 ? {} : { n: nested(depth - 1) })
const TOO_DEEP = validationError([{ path: 'attributes', message: 'must be nested at most 32 levels deep' }])

describe('changeProduct', () => {
  it('keeps the row when nothing changes', async () => {
    const id = await add({ price: 1 })
    const before = await rowOf(id)
    const [row] = before
    const unchanged = { id, sku: row?.sku, version: 1, changed: false, attributes: '{"price": 1}' }
    expect(await change(id, '{"price": 1}')).toEqual(unchanged)
    expect(await change(id, '{}', { mode: 'merge' })).toEqual(unchanged)
    expect(await rowOf(id)).toEqual(before)
  })

  it('takes 1 and 1.0 for different texts', async () => {
    const id = await add({ price: 1 })
    const changed = await change(id, '{"price":1.0}')
    const sku = expect.stringMatching(/^P[0-9a-f-]{36}$/)
    expect(changed).toEqual({ id, sku, version: 2, changed: true, attributes: '{"price": 1.0}' })
  })

  it.each([
    ['keys', keys(999, 'a'), keys(1_000, 'b'), mergedTooManyKeys(1_000)],
    ['bytes', { a: 'x'.repeat(10_000) }, { b: 'x'.repeat(60_000) }, mergedTooLarge(65_536)],
    ['levels', nested(30), nested(32), TOO_DEEP],
  ])('refuses a patch of too many %s, and changes nothing', async (_what, stored, patch, error) => {
    const id = await add(stored)
    const before = await rowOf(id)
    await expect(change(id, JSON.stringify(patch), { mode: 'merge' })).rejects.toThrow(error)
    expect(await rowOf(id)).toEqual(before)
  })

  it('judges the version before what a patch makes', async () => {
    const id = await add(keys(999, 'a'))
    const patch = JSON.stringify(keys(1_000, 'b'))
    await expect(change(id, patch, { mode: 'merge', versions: [2] })).rejects.toThrow(productChanged())
    await expect(change(id, patch, { mode: 'merge', versions: [1] })).rejects.toThrow(mergedTooManyKeys(1_000))
    await expect(change(id + 1_000_000, patch, { mode: 'merge', versions: [2] })).rejects.toThrow(productNotFound())
  })
})
