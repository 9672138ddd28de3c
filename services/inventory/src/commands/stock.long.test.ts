import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { anyTime } from '@trestle/testing/any-text.ts'
import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { loadInventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { openCommandDatabase, openOperatorDatabase } from '../open-database.ts'
import { callReserve } from '../reservations/reservation-repository.ts'
import { listLevels } from '../stock/level-repository.ts'
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
    .values(['MUG', 'TEA', 'PEN', 'INK', 'CUP', 'BAG', 'HAT', 'CAP'].map((sku) => ({ sku, attributes: '{}' })))
    .execute()
  // If MAIN is the only location, the command may omit it.
  await run('receive', 'MUG', '7')
  await database.db.insertInto('locations').values({ code: 'SHOP', name: 'Shop' }).execute()
  await database.db.insertInto('locations').values({ code: 'OLD', name: 'Old', active: false }).execute()
  await database.close()
  await run('receive', 'MUG', '2', '--location', 'SHOP')
  await run('receive', 'TEA', '3', '--location', 'SHOP')
})
afterAll(() => temporary.drop())

it.each(['drop', 'refuse'] as const)(
  'a command of an operator refuses a pooler that no setting names, as a start does: %s',
  async (does) => {
    const pooler = await openStartupPooler(temporary.url, does)
    onTestFinished(pooler.close)
    const config = load(temporary.url)
    const wanted = { ...config, database: { ...config.database, url: pooler.url, prepared: true } }
    await expect(openOperatorDatabase(wanted, 'stock')).rejects.toThrow(
      new Error('the database is behind a pooler that keeps no settings of a session: set INVENTORY_DB_PREPARED=false'),
    )
  },
)

const open = () => openCommandDatabase(load(temporary.url), 'stock')

/** Runs `inventory stock …`, and returns the printed lines. */
async function run(...words: string[]): Promise<string[]> {
  const lines: string[] = []
  const program = new Command().exitOverride()
  program.addCommand(stockCommand({ open: async () => open(), print: (line) => void lines.push(line) }))
  await program.parseAsync(['stock', ...words], { from: 'user' })
  return lines
}
const json = async (...words: string[]): Promise<unknown> => JSON.parse((await run(...words, '--json')).join('\n'))
const MAIN = ['--location', 'MAIN']
const cells = (lines: readonly string[]) => lines.map((line) => line.split(/ {2,}/))

describe('inventory stock', () => {
  it('receive, adjust, count: move stock, and print the level afterwards with its change', async () => {
    const level = (onHand: string, change: string) => [
      ['movement', expect.stringMatching(/^\d+$/)],
      ['sku', 'PEN'],
      ['location', 'MAIN'],
      ['on hand', `${onHand} (${change})`],
      ['reserved', '0'],
      ['available', onHand],
      ['updated at', anyTime],
    ]
    expect(cells(await run('receive', 'PEN', '10', '--reference', 'PO-7', ...MAIN))).toEqual(level('10', '+10'))
    expect(cells(await run('adjust', 'PEN', '-2', '--reason', 'broken', ...MAIN))).toEqual(level('8', '-2'))
    expect(cells(await run('adjust', 'PEN', '+1', '--reason', 'found', ...MAIN))).toEqual(level('9', '+1'))
    expect(cells(await run('count', 'PEN', '7', '--expect', '9', ...MAIN))).toEqual(level('7', '-2'))
    const database = open()
    const rows = await database.db
      .selectFrom('movements')
      .innerJoin('products', 'products.id', 'movements.product_id')
      .select(['type', 'reason', 'reference', 'actor'])
      .where('sku', '=', 'PEN')
      .orderBy('movements.id')
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
    const level = { productId: 4, locationId: 2, onHand: 3, reserved: 0, available: 3, updatedAt: anyTime }
    const answer = await json('receive', 'INK', '3', '--location', 'SHOP')
    const { id } = z.object({ id: z.number() }).parse(answer)
    expect(answer).toEqual({ id, ids: [id], levels: [level] })
  })

  it('list: prints levels with the names of products and locations', async () => {
    expect(cells(await run('list', '--sku', 'MUG'))).toEqual([
      ['SKU', 'LOCATION', 'ON HAND', 'RESERVED', 'AVAILABLE', 'UPDATED AT'],
      ['MUG', 'MAIN', '7', '0', '7', anyTime],
      ['MUG', 'SHOP', '2', '0', '2', anyTime],
    ])
    const levelOf = (sku: string, productId: number, onHand: number) => ({
      ...{ productId, locationId: 2, onHand, reserved: 0, available: onHand, updatedAt: anyTime },
      ...{ sku, location: 'SHOP' },
    })
    const [mug, tea] = [levelOf('MUG', 1, 2), levelOf('TEA', 2, 3)]
    expect(await json('list', '--sku', 'TEA')).toEqual([tea])
    expect(await json('list', '--location', 'SHOP', '--sku', 'MUG')).toEqual([mug])
    expect(await json('list', '--below', '3')).toEqual([mug])
    expect(await json('list', '--limit', '1', '--location', 'SHOP')).toEqual([mug])
    expect(await run('list', '--below', '0')).toEqual(['nothing'])
  })

  it('history: prints the movements of a product, newest first', async () => {
    const at = ['--location', 'SHOP']
    await run('receive', 'BAG', '10', ...at, '--reference', 'PO-8')
    await run('receive', 'BAG', '1', ...MAIN)
    const database = open()
    const [level] = await listLevels(database.db, { sku: 'BAG', locationId: 2 }, { after: undefined, limit: 1 })
    const productId = Number(level?.productId)
    const order = { productId, locationId: 2, quantity: 2, expiresInSeconds: undefined, reference: 'order-1' }
    await callReserve(database.pools, { actor: 'buyer', idempotentRequest: undefined }, order)
    await database.close()
    await run('adjust', 'BAG', '-3', ...at, '--reason', 'torn')
    await run('count', 'BAG', '7', ...at)
    const rows = [
      [anyTime, 'count', 'SHOP', '7', '2', 'operator', '-', '-'],
      [anyTime, 'adjust', 'SHOP', '7 (-3)', '2', 'operator', 'torn', '-'],
      [anyTime, 'reserve', 'SHOP', '10', '2 (+2)', 'buyer', '-', 'order-1'],
      [anyTime, 'receive', 'MAIN', '1 (+1)', '0', 'operator', '-', '-'],
      [anyTime, 'receive', 'SHOP', '10 (+10)', '0', 'operator', '-', 'PO-8'],
    ]
    const head = ['CREATED AT', 'TYPE', 'LOCATION', 'ON HAND', 'RESERVED', 'ACTOR', 'REASON', 'REFERENCE']
    expect(cells(await run('history', 'BAG'))).toEqual([head, ...rows])
    expect(cells(await run('history', 'BAG', ...MAIN))).toEqual([head, rows[3]])
    expect(cells(await run('history', 'BAG', ...at, '--limit', '1'))).toEqual([head, rows[0]])
    const none = { reason: null, reference: null, transferId: null, reservationId: null }
    const deltas = { onHandDelta: 1, reservedDelta: 0, onHandAfter: 1, reservedAfter: 0 }
    expect(await json('history', 'BAG', ...MAIN)).toEqual([
      {
        ...{ id: expect.any(Number), productId, locationId: 1, type: 'receive', ...deltas, ...none },
        ...{ actor: 'operator', createdAt: anyTime, sku: 'BAG', location: 'MAIN' },
      },
    ])
    expect(await run('history', 'HAT')).toEqual(['nothing'])
  })

  it('transfer: moves stock between locations, and prints both levels', async () => {
    await run('receive', 'CAP', '9', ...MAIN)
    const printed = cells(await run('transfer', 'CAP', '4', '--from', 'MAIN', '--to', 'SHOP', '--reference', 'T-1'))
    const id = Number(printed[1]?.[0])
    expect(printed).toEqual([
      ['MOVEMENT', 'SKU', 'LOCATION', 'ON HAND', 'RESERVED', 'AVAILABLE', 'UPDATED AT'],
      [String(id), 'CAP', 'MAIN', '5 (-4)', '0', '5', anyTime],
      [String(id + 1), 'CAP', 'SHOP', '4 (+4)', '0', '4', anyTime],
    ])
    const level = { productId: 8, reserved: 0, updatedAt: anyTime }
    const levels = [
      { ...level, locationId: 1, onHand: 6, available: 6 },
      { ...level, locationId: 2, onHand: 3, available: 3 },
    ]
    const answer = await json('transfer', 'CAP', '1', '--to', 'MAIN', '--from', 'SHOP')
    const { ids } = z.object({ ids: z.array(z.number()) }).parse(answer)
    expect(answer).toEqual({ id: ids[0], ids, levels })
    const moved = { productId: 8, sku: 'CAP', type: 'transfer', reservedDelta: 0, reservedAfter: 0, createdAt: anyTime }
    const main = { ...moved, locationId: 1, location: 'MAIN', reason: null, actor: 'operator', reservationId: null }
    const shop = { ...main, locationId: 2, location: 'SHOP' }
    expect(await json('history', 'CAP', '--limit', '4')).toEqual([
      { ...main, id: ids[1], onHandDelta: 1, onHandAfter: 6, transferId: ids[0], reference: null },
      { ...shop, id: ids[0], onHandDelta: -1, onHandAfter: 3, transferId: ids[0], reference: null },
      { ...shop, id: id + 1, onHandDelta: 4, onHandAfter: 4, transferId: id, reference: 'T-1' },
      { ...main, id, onHandDelta: -4, onHandAfter: 5, transferId: id, reference: 'T-1' },
    ])
  })

  it('count: names the reserved quantity that a count may not go below', async () => {
    await run('receive', 'CUP', '9', ...MAIN)
    const database = open()
    const [level] = await listLevels(database.db, { sku: 'CUP' }, { after: undefined, limit: 1 })
    const place = { productId: Number(level?.productId), locationId: Number(level?.locationId) }
    const asked = { ...place, quantity: 3, expiresInSeconds: undefined, reference: undefined }
    await callReserve(database.pools, { actor: null, idempotentRequest: undefined }, asked)
    await database.close()
    const message = 'More is reserved than was counted: release or commit reservations first; 3 are reserved'
    await expect(run('count', 'CUP', '2', ...MAIN)).rejects.toHaveProperty('message', message)
  })

  it.each([
    [['receive', 'NONE', '1', ...MAIN], 'there is no product NONE'],
    [['receive', 'MUG', '1'], 'name the location by --location; there are MAIN, SHOP, OLD'],
    [['count', 'MUG', '1'], 'name the location by --location; there are MAIN, SHOP, OLD'],
    [['adjust', 'MUG', '1', '--reason', 'x'], 'name the location by --location; there are MAIN, SHOP, OLD'],
    [['receive', 'MUG', '1', '--location', 'NONE'], 'there is no location NONE; there are MAIN, SHOP, OLD'],
    [['receive', 'MUG', '1', '--location', 'OLD'], 'The location is not active: it takes no stock.'],
    [['receive', 'MUG', '0'], 'the quantity: must be at least 1'],
    [['receive', 'MUG', '-5'], 'the quantity: must be at least 1'],
    [['receive', 'MUG', 'many'], 'the quantity: must be a whole number'],
    [['receive', 'MUG', '1000000000000', ...MAIN], 'The quantity on hand would be above 1000000000000.'],
    [['adjust', 'MUG', '0', '--reason', 'x'], 'the delta: must not be 0'],
    [
      ['adjust', 'MUG', '-8', '--reason', 'x', ...MAIN],
      'There is not enough stock available: 7 of MUG are available at MAIN',
    ],
    [['adjust', 'MUG', '-1'], "error: required option '--reason <text>' not specified"],
    [['adjust', 'MUG', '-1', '--reason', ''], '--reason: must not be empty'],
    [['count', 'MUG', '-1'], 'the quantity: must be at least 0'],
    [['count', 'MUG', '7', '--expect', '1', ...MAIN], '7 are on hand, not 1'],
    [['count', 'MUG', '7', '--expect', 'x'], '--expect: must be a whole number'],
    [['receive', 'MUG'], "error: missing required argument 'quantity'"],
    [['transfer', 'MUG', '1', '--from', 'MAIN'], "error: required option '--to <code>' not specified"],
    [['transfer', 'MUG', '0', '--from', 'MAIN', '--to', 'SHOP'], 'the quantity: must be at least 1'],
    [
      ['transfer', 'MUG', '8', '--from', 'MAIN', '--to', 'SHOP'],
      'There is not enough stock available: 7 of MUG are available at MAIN',
    ],
    [['transfer', 'MUG', '1', '--from', 'MAIN', '--to', 'MAIN'], '--to: must be another location than --from'],
    [['transfer', 'MUG', '1', '--from', 'MAIN', '--to', 'OLD'], 'The location is not active: it takes no stock.'],
    [['transfer', 'MUG', '1', '--from', 'NONE', '--to', 'OLD'], 'there is no location NONE; there are MAIN, SHOP, OLD'],
    [
      ['list', '--limit', '0'],
      "error: option '--limit <rows>' argument '0' is invalid. It must be a whole number from 1 to 1000.",
    ],
    [
      ['list', '--below', '-1'],
      "error: option '--below <quantity>' argument '-1' is invalid. It must be a whole number from 0 to 1000000000000.",
    ],
    [['list', '--sku', 'NONE'], 'there is no product NONE'],
    [['history', 'NONE'], 'there is no product NONE'],
    [['history', 'MUG', '--location', 'NONE'], 'there is no location NONE; there are MAIN, SHOP, OLD'],
    [['list', '--location', 'NONE'], 'there is no location NONE; there are MAIN, SHOP, OLD'],
  ])('refuses %j, and moves nothing', async (words, message) => {
    const before = await json('list')
    await expect(run(...words)).rejects.toHaveProperty('message', message)
    expect(await json('list')).toEqual(before)
  })
})
