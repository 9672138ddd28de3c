import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockDatabase, type StockDatabase, withKey } from '../../test/stock-database.ts'
import {
  callChangeProduct,
  callDeleteProduct,
  findProduct,
  insertProduct,
  insertProductOnce,
  listProductsById,
  type ProductChange,
} from './product-repository.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())

let serial = 0
const newSku = () => `S-${++serial}`

async function add(attributes = '{"a": 1}', sku = newSku()): Promise<{ readonly id: number; readonly sku: string }> {
  const inserted = await insertProduct(stock.pools, stock.names, { sku, attributes })
  if (inserted === 'duplicate-sku') throw new Error(`the sku ${sku} is taken`)
  return { id: inserted.id, sku }
}
const change = (differences: Pick<ProductChange, 'id'> & Partial<ProductChange>) =>
  callChangeProduct(stock.pools, stock.names, {
    versions: undefined,
    attributes: undefined,
    mode: 'replace',
    bytesMax: 1_000,
    ...differences,
  })
const remove = (id: number, versions?: readonly number[]) =>
  callDeleteProduct(stock.pools, stock.names, { id, versions })

describe('insertProduct', () => {
  it('adds the first version of a product, with its attributes as they were written', async () => {
    const { id, sku } = await add('{"n": 0.10}')
    expect(await findProduct(stock.pools, id)).toEqual({ id, sku, attributes: '{"n": 0.10}', version: 1 })
  })

  it('refuses the SKU of a live product, and accepts that of a deleted one', async () => {
    const { id, sku } = await add()
    const again = () => insertProduct(stock.pools, stock.names, { sku, attributes: '{}' })
    expect(await again()).toBe('duplicate-sku')
    expect(await remove(id)).toBe('done')
    expect(await again()).toEqual({ id: expect.any(Number), version: 1 })
  })
})

describe('insertProductOnce', () => {
  it('adds one product for a key, and refuses a taken SKU under a new key', async () => {
    const product = { sku: newSku(), attributes: '{}' }
    const insert = (key: string) => insertProductOnce(stock.db, stock.names, withKey(key, product), product)
    const body = { id: expect.any(Number), version: 1 }
    expect(await insert('k1')).toEqual({ verdict: 'done', body })
    expect(await insert('k1')).toEqual({ verdict: 'replayed', body })
    expect(await insert('k2')).toBe('duplicate-sku')
    expect(await stock.query('SELECT sku FROM inventory.products WHERE sku = $1', [product.sku])).toHaveLength(1)
  })
})

describe('callChangeProduct', () => {
  it('replaces attributes and SKU, and counts the version', async () => {
    const { id } = await add()
    const sku = newSku()
    expect(await change({ id, sku, attributes: '[1]', versions: [7, 1] })).toEqual({
      verdict: 'done',
      change: { id, sku, attributes: '[1]', version: 2, changed: true },
    })
  })

  it('keeps the version when nothing differs', async () => {
    const { id, sku } = await add('{"a": 1}')
    expect(await change({ id, attributes: '{"a":1}' })).toEqual({
      verdict: 'done',
      change: { id, sku, attributes: '{"a": 1}', version: 1, changed: false },
    })
  })

  it('merges a patch: null removes a member, and others stay', async () => {
    const { id, sku } = await add('{"a": 1, "b": 2}')
    expect(await change({ id, attributes: '{"a":null,"c":3}', mode: 'merge' })).toEqual({
      verdict: 'done',
      change: { id, sku, attributes: '{"b": 2, "c": 3}', version: 2, changed: true },
    })
  })

  it.each<[string, Partial<ProductChange>]>([
    ['stale', { versions: [2, 3] }],
    ['stale', { versions: [] }],
    ['attributes-bytes', { mode: 'merge', attributes: `{"b":"${'x'.repeat(1_000)}"}` }],
  ])('refuses as %s: %j', async (verdict, given) => {
    const { id, sku } = await add()
    expect((await change({ id, attributes: '{}', ...given })).verdict).toBe(verdict)
    expect(await findProduct(stock.pools, id)).toEqual({ id, sku, attributes: '{"a": 1}', version: 1 })
  })

  it('refuses the SKU of another product, and a product that is deleted', async () => {
    const [one, other] = [await add(), await add()]
    expect(await change({ id: one.id, sku: other.sku })).toEqual({ verdict: 'duplicate-sku' })
    await remove(one.id)
    expect((await change({ id: one.id, attributes: '{}' })).verdict).toBe('not-found')
  })
})

describe('callDeleteProduct', () => {
  it('refuses another version and stock on hand, and deletes once', async () => {
    const { id } = await add()
    expect(await remove(id, [2])).toBe('stale')
    await stock.query('INSERT INTO inventory.stock_levels VALUES ($1, 1, 1)', [id])
    expect(await remove(id, [1])).toBe('in-stock')
    await stock.query('UPDATE inventory.stock_levels SET on_hand = 0 WHERE product_id = $1', [id])
    expect([await remove(id, [1]), await remove(id), await findProduct(stock.pools, id)]).toEqual([
      'done',
      'not-found',
      undefined,
    ])
  })
})

describe('listProductsById', () => {
  it('lists live products after an id, up to the limit', async () => {
    const [one, two, three, four] = [await add(), await add(), await add(), await add()]
    await remove(two.id)
    const shown = [one, three].map(({ id, sku }) => ({ id, sku, attributes: '{"a": 1}' }))
    expect(await listProductsById(stock.pools, one.id - 1, 2)).toEqual(shown)
    expect(await listProductsById(stock.pools, four.id, 2)).toEqual([])
  })

  it('gives a page up whose attributes are longer than the read pool reads', async () => {
    const { id } = await add(JSON.stringify('x'.repeat(262_144)))
    expect(await listProductsById(stock.pools, id - 1, 1)).toBeUndefined()
  })
})
