import { openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { prepared } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import type { InventoryTables } from '../database.ts'
import { readFilter } from './product-filter.ts'
import { type ProductSort, pageStatement } from './product-list-repository.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
  await inventory.query(`INSERT INTO inventory.products (sku, attributes)
    SELECT 'P-' || n, jsonb_build_object('rare', n / 10, 'common', n % 2, 'name', 'word' || n / 10)
    FROM generate_series(1, 20000) AS n`)
  await inventory.query('VACUUM ANALYZE inventory.products')
})
afterAll(() => inventory.close())

/** The indexes in the query plan of a page. */
async function indexesOf(parameters: readonly (readonly [string, string])[], sort: ProductSort, after?: string[]) {
  const filters = parameters.flatMap(([name, value]) => {
    const read = readFilter(name, value)
    return read.verdict === 'accepted' ? [read.filter] : []
  })
  await using database = openInventory()
  const page = pageStatement({ filters, sort }, { limit: 51, after })
  const { rows } = await sql<{ readonly 'QUERY PLAN': string }>`EXPLAIN (COSTS false) ${page}`.execute(database.db)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  return [...plan.matchAll(/(?:using|Index Scan on) (products_\w+)/g)].map(([, name]) => name)
}

function openInventory() {
  const database = openDatabase<InventoryTables>({
    url: inventory.databaseUrl,
    names: createNames('inventory'),
    applicationName: 'test',
    poolSize: 1,
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 5_000,
    prepared,
    onConnectionError: () => {},
  })
  return { ...database, [Symbol.asyncDispose]: database.close }
}

it.each<[string, [string, string][], ProductSort, string]>([
  ['equality of an attribute', [['attributes.rare', '7']], 'id', 'products_attributes_idx'],
  ['membership in a list', [['attributes.rare[in]', '7,8']], 'id', 'products_attributes_idx'],
  ['containment', [['contains', '{"name":"word7"}']], 'id', 'products_attributes_idx'],
  ['equality, in another order', [['attributes.name', 'word7']], '-updatedAt', 'products_attributes_idx'],
  ['an equality that half of the products meet', [['attributes.common', '1']], 'id', 'products_pkey'],
  ['a sku', [['sku', 'P-7']], 'id', 'products_sku_key'],
  ['the beginning of a sku', [['sku[prefix]', 'P-777']], 'id', 'products_sku_key'],
  ['a word', [['q', 'word777']], 'id', 'products_search_idx'],
  ['no filter by sku', [], 'sku', 'products_sku_key'],
  ['no filter by time', [], '-createdAt', 'products_created_at_idx'],
])('finds %s through an index', async (_name, parameters, sort, index) => {
  expect(await indexesOf(parameters, sort)).toContain(index)
})

it.each<[ProductSort, string[], string]>([
  ['id', ['10000'], 'products_pkey'],
  ['sku', ['P-5'], 'products_sku_key'],
  ['updatedAt', ['2026-01-01T00:00:00.000000Z', '5'], 'products_updated_at_idx'],
])('begins a page by %s at its place in the index', async (sort, after, index) => {
  expect(await indexesOf([], sort, after)).toEqual([index])
})

it('estimates few rows for a rare beginning of a SKU, and many for a common one', async () => {
  const expected = async (text: string) => {
    const rows = await inventory.query(`EXPLAIN SELECT FROM inventory.products
      WHERE deleted_at IS NULL AND lower(sku COLLATE "default") LIKE '${text}%'`)
    return Number(/rows=(\d+)/.exec(JSON.stringify(rows))?.[1])
  }
  expect(await expected('p-7777')).toBeLessThan(50)
  expect(await expected('p-1')).toBeGreaterThan(5_000)
})
