import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { callImportProducts, type ImportVerdict } from './import-repository.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(() => stock.close())

it('stores one product for each SKU of a batch, and reports every row', async () => {
  const row = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '1.0', '2'))
  const batch = fc.array(row, { minLength: 1, maxLength: 12 })
  const products = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([sku, attributes], at) => ({ line: at + 1, sku, attributes }))
  await fc.assert(
    fc.asyncProperty(batch, batch, fc.boolean(), async (before, rows, replace) => {
      await stock.query('DELETE FROM inventory.products')
      await callImportProducts(stock.db, products(before), 'replace')
      const model = new Map(before)
      const expected = rows.map(([sku, attributes]): ImportVerdict => {
        const held = model.get(sku)
        if (held === undefined || replace) model.set(sku, attributes)
        return held === undefined ? 'created' : replace && held !== attributes ? 'updated' : 'exists'
      })
      expect(await callImportProducts(stock.db, products(rows), replace ? 'replace' : 'keep')).toEqual(expected)
      const stored = await stock.query('SELECT sku, attributes::text, version FROM inventory.products')
      expect(new Map(stored.map(({ sku, attributes }) => [sku, attributes]))).toEqual(model)
      expect(stored.every(({ version }) => Number(version) <= 2)).toBe(true)
    }),
    { numRuns: 60 },
  )
})

it.each([
  { what: 'each SKU once', copies: 1 },
  { what: 'each SKU twice', copies: 2 },
])('updates existing products by batches with $what in opposite orders without a deadlock', async ({ copies }) => {
  const skus = Array.from({ length: 500 }, (_, n) => `O-${n}`)
  const store = (value: number, batch: readonly string[]) => {
    const products = Array.from({ length: copies }, () => batch).flat()
    const attributes = products.map(() => JSON.stringify(value))
    return sql`SELECT FROM inventory.import_products(true, ${products}, ${attributes})`.execute(stock.db)
  }
  await store(0, skus)
  const stored = await Promise.all(
    Array.from({ length: 40 }, (_, at) => store(at, at % 2 === 0 ? skus : skus.toReversed())),
  )
  expect(stored.every(({ rows }) => rows.length === 500 * copies)).toBe(true)
  const values = await stock.query("SELECT DISTINCT attributes FROM inventory.products WHERE sku LIKE 'O-%'")
  expect(values).toHaveLength(1)
})
