import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addProducts, NOBODY, openStockDatabase, type StockDatabase, withKey } from '../../test/stock-database.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import {
  callChangeLocation,
  callDeleteLocation,
  findLocation,
  getLocationId,
  getOnlyCode,
  insertLocation,
  listLocationCodes,
  listLocations,
} from './location-repository.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
// Rows of the ledger are never deleted, so keep the locations that they refer to.
afterEach(() =>
  stock.query(
    `DELETE FROM inventory.locations WHERE id > 1 AND id NOT IN (SELECT location_id FROM inventory.stock_levels)`,
  ),
)
afterAll(() => stock.close())

/** Adds a location and returns its id. */
async function add(code: string, caller = NOBODY): Promise<number> {
  const answer = await insertLocation(stock, caller, { code, name: 'Shelf', active: true })
  if (answer === 'duplicate-code' || answer.body === null) throw new Error(`${code} was not added`)
  return answer.body.id
}
const remove = (id: number) => callDeleteLocation(stock, { id, versions: undefined })
const main = { id: 1, code: 'MAIN', name: 'Main warehouse', active: true, version: 1 }

describe('the location that a command means', () => {
  it('is the one with the code, but no deleted one', async () => {
    const id = await add('ATTIC')
    expect(await getLocationId(stock.db, 'ATTIC')).toBe(id)
    await remove(id)
    await expect(getLocationId(stock.db, 'ATTIC')).rejects.toThrow('there is no location ATTIC; there are MAIN')
  })

  it('is the only one where none is named, as long as there is one alone', async () => {
    expect(await getOnlyCode(stock.db)).toBe('MAIN')
    await add('ATTIC')
    await expect(getOnlyCode(stock.db)).rejects.toThrow('name the location by --location; there are MAIN, ATTIC')
  })

  it('is named among the first ten', async () => {
    for (let at = 1; at < 10; at += 1) await add(`L${at}`)
    const ten = 'MAIN, L1, L2, L3, L4, L5, L6, L7, L8, L9'
    await expect(getLocationId(stock.db, 'NONE')).rejects.toThrow(`there is no location NONE; there are ${ten}`)
    await add('L10')
    await expect(getLocationId(stock.db, 'NONE')).rejects.toThrow(
      `there is no location NONE; there are ${ten} and more`,
    )
  })
})

describe('insertLocation', () => {
  it('refuses a code that a location has, and takes that of a deleted one', async () => {
    const id = await add('ATTIC')
    const again = () => insertLocation(stock, NOBODY, { code: 'ATTIC', name: 'Other', active: false })
    expect(await again()).toBe('duplicate-code')
    await remove(id)
    expect(await again()).toEqual({ verdict: 'done', body: { id: expect.any(Number) } })
  })

  it('adds one location for an idempotent request, and keeps no key of a refused request', async () => {
    const location = { code: 'ATTIC', name: 'Shelf', active: true }
    const id = await add('ATTIC', withKey('add-1', location))
    expect(await insertLocation(stock, withKey('add-1', location), location)).toEqual({
      verdict: 'replayed',
      body: { id },
    })
    const other = { ...location, code: 'CELLAR' }
    expect(await insertLocation(stock, withKey('add-2', location), location)).toBe('duplicate-code')
    expect(await insertLocation(stock, withKey('add-2', other), other)).toEqual({
      verdict: 'done',
      body: { id: expect.any(Number) },
    })
  })
})

describe('callChangeLocation', () => {
  it('changes the members that are given, and counts the version up', async () => {
    const id = await add('ATTIC')
    const changed = { id, code: 'ATTIC', name: 'Attic', active: false, version: 2 }
    const change = { name: 'Attic', active: false }
    expect(await callChangeLocation(stock, { id, versions: [1, 7] }, change)).toEqual(changed)
    expect(await findLocation(stock.pools, id)).toEqual(changed)
  })

  it('changes nothing of another version, of a deleted location, or to a code that is taken', async () => {
    const id = await add('ATTIC')
    const before = await findLocation(stock.pools, id)
    const any = { id, versions: undefined }
    expect([
      await callChangeLocation(stock, { id, versions: [2] }, { name: 'Attic' }),
      await callChangeLocation(stock, { id, versions: [] }, { name: 'Attic' }),
      await callChangeLocation(stock, any, { code: 'MAIN' }),
      await callChangeLocation(stock, { id: id + 1, versions: undefined }, { name: 'Attic' }),
    ]).toEqual(['stale', 'stale', 'duplicate-code', 'not-found'])
    expect(await findLocation(stock.pools, id)).toEqual(before)
    await remove(id)
    expect(await callChangeLocation(stock, any, { name: 'Attic' })).toBe('not-found')
  })
})

describe('callDeleteLocation', () => {
  it('deletes a location once, and only in the version that is named', async () => {
    const id = await add('ATTIC')
    expect([await callDeleteLocation(stock, { id, versions: [2] }), await remove(id), await remove(id)]).toEqual([
      'stale',
      'done',
      'not-found',
    ])
    expect(await findLocation(stock.pools, id)).toBeUndefined()
  })

  it('keeps a location while it has stock', async () => {
    const locationId = await add('ATTIC')
    const [productId = 0] = await addProducts(stock, 1)
    const move = (type: 'receive' | 'ship') =>
      callMoveStock(stock.pools, NOBODY, [{ type, productId, locationId, quantity: 1 }])
    await move('receive')
    expect(await remove(locationId)).toBe('has-stock')
    await move('ship')
    expect(await remove(locationId)).toBe('done')
  })
})

describe('lists of locations', () => {
  it('go on after an id, find a code, and leave out deleted ones', async () => {
    const [attic, cellar] = [await add('ATTIC'), await add('CELLAR')]
    const shelf = (id: number, code: string) => ({ id, code, name: 'Shelf', active: true, version: 1 })
    const list = (code: string | undefined, afterId: number, limit = 10) =>
      listLocations(stock.pools, { code }, { afterId, limit })
    expect(await list(undefined, 0, 2)).toEqual([main, shelf(attic, 'ATTIC')])
    expect(await list(undefined, attic)).toEqual([shelf(cellar, 'CELLAR')])
    expect([await list('CELLAR', 0), await list('CELLAR', cellar), await list('cellar', 0)]).toEqual([
      [shelf(cellar, 'CELLAR')],
      [],
      [],
    ])
    await remove(cellar)
    expect([await list(undefined, attic), await list('CELLAR', 0)]).toEqual([[], []])
  })

  it('name the codes of ids, also of deleted locations, because the ledger has them', async () => {
    const id = await add('ATTIC')
    await remove(id)
    expect(await listLocationCodes(stock.db, [1, id, id, id + 1])).toEqual(
      new Map([
        [1, 'MAIN'],
        [id, 'ATTIC'],
      ]),
    )
    expect(await listLocationCodes(stock.db, [])).toEqual(new Map())
  })
})
