import { anyTime } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownReservation } from '../../test/bodies.ts'
import { addLocations, addProducts, NOBODY, openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import type { MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { QUANTITY_MAX } from '../stock/level.ts'
import { findStockFaults } from '../stock/level-repository.ts'
import {
  callCommitReservation,
  callExpireReservations,
  callReleaseReservation,
  callReserve,
} from './reservation-repository.ts'
import * as model from './stock.model.ts'

let database: StockDatabase
let locations: readonly number[]
beforeAll(async () => {
  database = await openStockDatabase()
  locations = await addLocations(database, 3)
  await database.query('UPDATE inventory.locations SET active = false WHERE id = $1', [locations[2]])
})
afterAll(() => database.close())

const PRODUCTS = 2
const ABSENT = 9_007_199_254_740_991

/** Numbers of objects, mostly of existing ones. The last location is inactive. A number after the last one is unknown. */
const product = fc.oneof({ weight: 12, arbitrary: fc.nat({ max: PRODUCTS - 1 }) }, fc.constant(PRODUCTS))
const location = fc.oneof({ weight: 12, arbitrary: fc.nat({ max: 1 }) }, fc.constantFrom(2, 3))
const quantity = fc.oneof({ weight: 40, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.constant(QUANTITY_MAX))
const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const place = { productId: product, locationId: location }
const common = {
  reference: seldom(fc.constant('PO-1')),
  expectedOnHand: seldom(fc.nat({ max: 12 })),
}
const line: fc.Arbitrary<MovementLine> = fc.oneof(
  fc.record({ type: fc.constantFrom('receive', 'receive', 'receive', 'ship'), ...place, quantity, ...common }),
  fc.record({
    ...{ type: fc.constant('adjust'), ...place, ...common, reason: fc.constant('found or lost') },
    delta: fc.integer({ min: -12, max: 12 }).filter((delta) => delta !== 0),
  }),
  fc.record({ type: fc.constant('count'), ...place, quantity: fc.nat({ max: 12 }), ...common }),
  fc
    .record({
      type: fc.constant('transfer'),
      ...{ productId: product, quantity, ...common },
      fromLocationId: location,
      toLocationId: location,
    })
    .filter(({ fromLocationId, toLocationId }) => fromLocationId !== toLocationId),
)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('move'), lines: fc.array(line, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reserve'), ...place, quantity }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant('commit'), which: fc.nat({ max: 4 }) },
      quantity: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('release', 'pass time', 'pass time'), which: fc.nat({ max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire') }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Initial stock, so that the first steps can take some. */
const INITIAL: Step = {
  kind: 'move',
  lines: [0, 1].map((number) => ({ type: 'receive', productId: number, locationId: number, quantity: 20 })),
}

describe('the SQL functions of stock', () => {
  it('do the same as the model in TypeScript, step by step', async () => {
    const counts = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40 }), async (steps) => {
        const products = await addProducts(database, PRODUCTS)
        const run = createRun(products)
        for (const each of [INITIAL, ...steps]) {
          const verdict = await run.take(each)
          counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
          await run.compare()
        }
      }),
      { numRuns: 40 },
    )
    expect(await findStockFaults(database.db)).toEqual([])
    for (const verdict of ['move done', 'move insufficient-stock', 'reserve done', 'commit done', 'commit expired']) {
      expect(counts.get(verdict)).toBeGreaterThan(0)
    }
  })
})

/** Runs the same steps in the database and in the model. */
function createRun(products: readonly number[]) {
  const { pools, query } = database
  const at = (list: readonly number[], index: number) => list[index] ?? ABSENT
  const reservations: number[] = []
  let stock: model.Stock = {
    products: new Set(products),
    locations: new Map(locations.map((id, index) => [id, index !== 2])),
    levels: new Map(),
    reservations: new Map(),
  }
  const agree = <Body>(
    { body, ...answer }: { readonly verdict: string; readonly body: Body | null },
    outcome: model.Outcome<string>,
  ): Body | null => {
    const { verdict, quantity = null, line = null } = { quantity: undefined, line: undefined, ...outcome }
    if ('stock' in outcome) stock = outcome.stock
    expect(answer).toEqual({ verdict, quantity, line })
    return body
  }
  const toLine = (each: MovementLine): MovementLine => ({
    ...each,
    productId: at(products, each.productId),
    ...('locationId' in each ? { locationId: at(locations, each.locationId) } : {}),
    ...('toLocationId' in each
      ? { fromLocationId: at(locations, each.fromLocationId), toLocationId: at(locations, each.toLocationId) }
      : {}),
  })
  const take = async (each: Step): Promise<string> => {
    const id = 'which' in each ? (reservations[each.which % (reservations.length + 1)] ?? ABSENT) : ABSENT
    switch (each.kind) {
      case 'move': {
        const lines = each.lines.map(toLine)
        const answer = await callMoveStock(pools, NOBODY, lines)
        agree(answer, model.moveStock(stock, lines))
        return `move ${answer.verdict}`
      }
      case 'reserve': {
        const wanted = { productId: at(products, each.productId), locationId: at(locations, each.locationId) }
        const answer = await callReserve(pools, NOBODY, { ...wanted, quantity: each.quantity, expiresInSeconds: 3_600 })
        const reservationId = answer.body?.id ?? 0
        agree(answer, model.reserve(stock, reservationId, { ...wanted, quantity: each.quantity }))
        if (answer.body) reservations.push(reservationId)
        return `reserve ${answer.verdict}`
      }
      case 'commit': {
        const answer = await callCommitReservation(pools, NOBODY, { id, quantity: each.quantity })
        const body = agree(answer, model.commit(stock, id, each.quantity))
        const left = stock.reservations.get(id)
        if (body && left) {
          const { productId, locationId, remaining, status } = left
          const whole = {
            id,
            productId,
            locationId,
            remaining,
            status,
            expiresAt: anyTime,
            quantity: expect.any(Number),
          }
          expect(body).toEqual(shownReservation(whole))
        }
        return `commit ${answer.verdict}`
      }
      case 'release': {
        const before = await callReleaseReservation(pools, null, id)
        const { status, isDue } = stock.reservations.get(id) ?? { status: 'not-found', isDue: false }
        expect(before).toBe(status === 'active' && isDue ? 'expired' : status)
        stock = model.release(stock, id) ?? stock
        return `release ${before}`
      }
      case 'pass time': {
        await query(`UPDATE inventory.reservations SET expires_at = now() - interval '1 s' WHERE id = $1`, [id])
        stock = model.passTime(stock, id)
        return each.kind
      }
      case 'expire': {
        await callExpireReservations(pools, 1_000)
        stock = model.expire(stock)
        return each.kind
      }
    }
  }
  const compare = async (): Promise<void> => {
    const levels = await query(
      `SELECT product_id, location_id, on_hand, reserved FROM inventory.stock_levels
       WHERE product_id = ANY ($1) AND on_hand > 0`,
      [products],
    )
    expect(
      new Map(
        levels.map(({ product_id, location_id, on_hand, reserved }) => [
          model.levelKey({ productId: Number(product_id), locationId: Number(location_id) }),
          { onHand: on_hand, reserved },
        ]),
      ),
    ).toEqual(new Map([...stock.levels].filter(([, { onHand }]) => onHand > 0)))
    const held = await query('SELECT id, remaining, status FROM inventory.reservations WHERE product_id = ANY ($1)', [
      products,
    ])
    expect(held.map(({ id, remaining, status }) => [id, remaining, status]).sort()).toEqual(
      [...stock.reservations].map(([id, { remaining, status }]) => [id, remaining, status]).sort(),
    )
  }
  return { take, compare }
}
