import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { anyTime } from '@trestle/testing/any-value.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadInventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { openCommandDatabase } from '../open-database.ts'
import { stockCommand } from './stock.ts'

let temporary: TemporaryDatabase
const load = (url: string) =>
  loadInventoryConfig({
    INVENTORY_DATABASE_URL: url,
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_DB_ROLE: 'inventory_service',
  })
beforeAll(async () => {
  temporary = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions(load(url))),
  })
  const database = open()
  await database.db
    .insertInto('products')
    .values(['MUG', 'TEA'].map((sku) => ({ sku, attributes: '{}' })))
    .execute()
  await database.db.insertInto('locations').values({ code: 'SHOP', name: 'Shop' }).execute()
  await database.db.insertInto('locations').values({ code: 'OLD', name: 'Old', active: false }).execute()
  await database.close()
})
afterAll(() => temporary.drop())

const open = () => openCommandDatabase(load(temporary.url), 'stock')

/** Runs `inventory stock …`, and answers the lines that it prints. */
async function run(...words: string[]): Promise<string[]> {
  const lines: string[] = []
  const program = new Command().exitOverride()
  program.addCommand(stockCommand({ open: async () => open(), print: (line) => void lines.push(line) }))
  await program.parseAsync(['stock', ...words], { from: 'user' })
  return lines
}
const json = async (...words: string[]): Promise<unknown> => JSON.parse((await run(...words, '--json')).join('\n'))
const cells = (lines: readonly string[]) => lines.map((line) => line.split(/ {2,}/))

describe('inventory stock', () => {
  it('receive, adjust, count: move stock, and print the level afterwards', async () => {
    const level = (movement: string, onHand: string) => [
      ['movement', movement],
      ['sku', 'MUG'],
      ['location', 'MAIN'],
      ['onHand', onHand],
      ['reserved', '0'],
      ['available', onHand],
      ['updatedAt', anyTime],
    ]
    expect(cells(await run('receive', 'MUG', '10', '--reference', 'PO-7'))).toEqual(level('1', '10'))
    expect(cells(await run('adjust', 'MUG', '-2', '--reason', 'broken'))).toEqual(level('2', '8'))
    expect(cells(await run('adjust', 'MUG', '+1', '--reason', 'found'))).toEqual(level('3', '9'))
    expect(cells(await run('count', 'MUG', '7', '--expect', '9'))).toEqual(level('4', '7'))
    const database = open()
    const rows = await database.db
      .selectFrom('movements')
      .select(['type', 'reason', 'reference', 'actor'])
      .orderBy('id')
      .execute()
    await database.close()
    expect(rows).toEqual([
      { type: 'receive', reason: null, reference: 'PO-7', actor: 'operator' },
      { type: 'adjust', reason: 'broken', reference: null, actor: 'operator' },
      { type: 'adjust', reason: 'found', reference: null, actor: 'operator' },
      { type: 'count', reason: null, reference: null, actor: 'operator' },
    ])
  })

  it('--json: prints the answer of POST /movements', async () => {
    const level = { productId: 2, locationId: 2, onHand: 3, reserved: 0, available: 3, updatedAt: expect.any(String) }
    expect(await json('receive', 'TEA', '3', '--location', 'SHOP')).toEqual({ id: 5, ids: [5], levels: [level] })
  })

  it('list: prints levels with the names of products and locations', async () => {
    expect(cells(await run('list'))).toEqual([
      ['SKU', 'LOCATION', 'ON HAND', 'RESERVED', 'AVAILABLE', 'UPDATED AT'],
      ['MUG', 'MAIN', '7', '0', '7', anyTime],
      ['TEA', 'SHOP', '3', '0', '3', anyTime],
    ])
    const tea = {
      productId: 2,
      locationId: 2,
      onHand: 3,
      reserved: 0,
      available: 3,
      updatedAt: expect.any(String),
      sku: 'TEA',
      location: 'SHOP',
    }
    expect(await json('list', '--sku', 'TEA')).toEqual([tea])
    expect(await json('list', '--location', 'SHOP')).toEqual([tea])
    expect(await json('list', '--below', '4')).toEqual([tea])
    expect(await json('list', '--limit', '1')).toMatchObject([{ sku: 'MUG' }])
    expect(await run('list', '--sku', 'NONE')).toEqual(['nothing'])
  })

  it.each([
    [['receive', 'NONE', '1'], 'there is no product NONE'],
    [['receive', 'MUG', '1', '--location', 'NONE'], 'there is no location NONE'],
    [['receive', 'MUG', '1', '--location', 'OLD'], 'The location is not active: it takes no stock.'],
    [['receive', 'MUG', '0'], 'the quantity: must be at least 1'],
    [['receive', 'MUG', 'many'], 'the quantity: must be a whole number'],
    [['receive', 'MUG', '1000000000000'], 'The quantity on hand would be above 1000000000000.'],
    [['adjust', 'MUG', '0', '--reason', 'x'], 'the delta: must not be 0'],
    [['adjust', 'MUG', '-8', '--reason', 'x'], 'There is not enough stock available: 7'],
    [['adjust', 'MUG', '-1'], "error: required option '--reason <text>' not specified"],
    [['adjust', 'MUG', '-1', '--reason', ''], '--reason: must not be empty'],
    [['count', 'MUG', '-1'], 'the quantity: must be at least 0'],
    [['count', 'MUG', '7', '--expect', '1'], 'The quantity on hand is not the expected one: 7'],
    [['count', 'MUG', '7', '--expect', 'x'], '--expect: must be a whole number'],
    [['receive', 'MUG'], "error: missing required argument 'quantity'"],
    [
      ['list', '--limit', '0'],
      "error: option '--limit <rows>' argument '0' is invalid. It must be a number from 1 to 1000.",
    ],
    [
      ['list', '--below', '-1'],
      "error: option '--below <quantity>' argument '-1' is invalid. It must be a number from 0 to 1000000000000.",
    ],
    [['list', '--location', 'NONE'], 'there is no location NONE'],
  ])('refuses %j, and moves nothing', async (words, message) => {
    const before = await json('list')
    await expect(run(...words)).rejects.toHaveProperty('message', message)
    expect(await json('list')).toEqual(before)
  })
})
