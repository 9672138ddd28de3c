import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { actorOf } from '../../test/operators.ts'
import { openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import { listOperatorAudit, runAuditedChange } from './operator-change-repository.ts'

let stock: StockDatabase
/** The ids of the products of each change, in order. */
const CHANGED = [[1], [2, 3], [1, 3], []]
beforeAll(async () => {
  stock = await openStockDatabase()
  for (const [at, productIds] of CHANGED.entries()) {
    const operator = { actor: actorOf('admin'), key: 'desk', role: 'admin', address: '192.0.2.7' } as const
    const audited = {
      action: 'products.change',
      object: { kind: 'product', id: at },
      productIds,
      changes: { at },
    } as const
    const key = at === 0 ? 'click-1' : undefined
    await runAuditedChange(
      stock,
      { operator, key },
      async () => {},
      () => audited,
    )
  }
})
afterAll(() => stock.close())

const ALL = { after: 0, limit: 10 }
const list = async (
  ...[selection, bounds]: [...Parameters<typeof listOperatorAudit>] extends [unknown, ...infer Rest] ? Rest : never
) => {
  const entries = await listOperatorAudit(stock.db, selection, bounds)
  return entries.map(({ object }) => object.id)
}

it('shows who changed what', async () => {
  const [{ created, ...entry } = { created: new Date(0) }] = await listOperatorAudit(stock.db, { order: 'asc' }, ALL)
  expect({ ...entry, created: created.toISOString() }).toEqual({
    id: expect.any(Number),
    created: anyTime,
    action: 'products.change',
    actor: { id: actorOf('admin').id, email: 'admin@example.com' },
    key: 'desk',
    role: 'admin',
    address: '192.0.2.7',
    object: { kind: 'product', id: 0 },
    idempotencyKey: 'click-1',
    changes: { at: 0 },
  })
})

it.each([
  ['the newest first', { order: 'desc' }, [3, 2, 1, 0]],
  ['the oldest first', { order: 'asc' }, [0, 1, 2, 3]],
  ['those of a product, also beside others', { order: 'desc', productId: 3 }, [2, 1]],
  ['none of a product that nobody changed', { order: 'asc', productId: 9 }, []],
] as const)('lists %s', async (_what, selection, expected) => {
  expect(await list(selection, ALL)).toEqual(expected)
})

it.each([
  ['asc', [[0, 1, 2], [3]]],
  ['desc', [[3, 2, 1], [0]]],
] as const)('goes on after the last entry of a part, in the order %s', async (order, [first, second]) => {
  const part = await listOperatorAudit(stock.db, { order }, { after: 0, limit: 3 })
  expect(part.map(({ object }) => object.id)).toEqual(first)
  expect(await list({ order }, { after: part.at(-1)?.id ?? 0, limit: 3 })).toEqual(second)
})
