import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callResult, shownReservation } from '../../test/bodies.ts'
import {
  addLocations,
  addProducts,
  NOBODY,
  openStockDatabase,
  type StockDatabase,
  withKey,
} from '../../test/stock-database.ts'
import type { InventoryTables } from '../database.ts'
import type { MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { findStockFaults } from '../stock/level-repository.ts'
import {
  callCommitReservation,
  callExpireReservations,
  callReleaseReservation,
  callReserve,
} from './reservation-repository.ts'

let stock: StockDatabase
let productId: number
let locationId: number
let otherLocationId: number
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterAll(async () => {
  expect(await findStockFaults(stock.db)).toEqual([])
  await stock.close()
})

/** Creates a product with two levels, the second one empty. */
async function begin(onHand = 0): Promise<void> {
  ;[productId = 0] = await addProducts(stock, 1)
  ;[locationId = 0, otherLocationId = 0] = await addLocations(stock, 2)
  if (onHand > 0) await move({ type: 'receive', productId, locationId, quantity: onHand })
}

const move = (...lines: MovementLine[]) => callMoveStock(stock.pools, NOBODY, lines)
const reserve = (quantity: number, expiresInSeconds?: number) =>
  callReserve(stock.pools, NOBODY, { productId, locationId, quantity, expiresInSeconds })
const level = async () =>
  (
    await stock.query(
      'SELECT on_hand, reserved FROM inventory.stock_levels WHERE (product_id, location_id) = ($1, $2)',
      [productId, locationId],
    )
  )[0]
const verdicts = (answers: readonly { verdict: string }[]) =>
  Object.fromEntries(
    [...Map.groupBy(answers, ({ verdict }) => verdict)].map(([verdict, { length }]) => [verdict, length]),
  )

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
/** Waits until this number of statements wait for a lock. */
const expectWaiting = (count = 1) => expect.poll(() => stock.query(WAITING)).toHaveLength(count)

describe('parallel calls', () => {
  it('make exactly 100 of 200 reservations of 1 with 100 available', async () => {
    await begin(100)
    const answers = await Promise.all(Array.from({ length: 200 }, () => reserve(1)))
    expect(verdicts(answers)).toEqual({ done: 100, 'insufficient-stock': 100 })
    expect(await level()).toEqual({ on_hand: 100, reserved: 100 })
  })

  it('that share levels in opposite orders never deadlock', async () => {
    await begin()
    const [otherId = 0] = await addProducts(stock, 1)
    const lines: MovementLine[] = [productId, otherId].flatMap((id) => [
      { type: 'receive', productId: id, locationId, quantity: 5 },
      { type: 'transfer', productId: id, fromLocationId: locationId, toLocationId: otherLocationId, quantity: 2 },
    ])
    const before = await stock.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        move(...(at % 2 === 0 ? lines : [lines[2], lines[3], lines[0], lines[1]].filter((line) => line !== undefined))),
      ),
    )
    expect(verdicts(answers)).toEqual({ done: 60 })
    expect(await level()).toEqual({ on_hand: 180, reserved: 0 })
    expect(await stock.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')).toEqual(
      before,
    )
  })

  it('commit a reservation once, also during clean-ups', async () => {
    await begin(5)
    const reserved = await reserve(5)
    const id = reserved.body?.id ?? 0
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => callCommitReservation(stock.pools, NOBODY, { id, quantity: undefined })),
    )
    expect(verdicts(answers)).toEqual({ done: 1, committed: 39 })
    expect(await level()).toEqual({ on_hand: 0, reserved: 0 })
  })

  it('change no reservation whose time ends while they wait for its level', async () => {
    await begin(9)
    const ids = [
      (await reserve(2, 1)).body?.id ?? 0,
      (await reserve(3, 1)).body?.id ?? 0,
      (await reserve(4, 1)).body?.id ?? 0,
    ]
    const [all = 0, part = 0, released = 0] = ids
    await using late = new AsyncDisposableStack()
    await stock.db.transaction().execute(async (trx) => {
      await sql`SELECT FROM inventory.stock_levels WHERE product_id = ${productId} FOR UPDATE`.execute(trx)
      const answers = Promise.all([
        callCommitReservation(stock.pools, withKey('late', 'content'), { id: all, quantity: undefined }),
        callCommitReservation(stock.pools, NOBODY, { id: part, quantity: 1 }),
        callReleaseReservation(stock.pools, null, released),
      ])
      late.defer(async () =>
        expect(await answers).toEqual([
          callResult({ verdict: 'expired' }),
          callResult({ verdict: 'expired' }),
          'expired',
        ]),
      )
      await expectWaiting(3)
      const over = 'SELECT FROM inventory.reservations WHERE id = ANY ($1) AND expires_at <= clock_timestamp()'
      await expect.poll(() => stock.query(over, [ids]), { timeout: 60_000 }).toHaveLength(3)
    })
    await late.disposeAsync()
    expect(await level()).toEqual({ on_hand: 9, reserved: 9 })
    expect(await callExpireReservations(stock.pools, 20)).toBe(3)
    expect(await level()).toEqual({ on_hand: 9, reserved: 0 })
  })

  it('expire each reservation once, and skip those that are locked', async () => {
    await begin(60)
    await Promise.all(Array.from({ length: 50 }, () => reserve(1, 60)))
    await stock.query(`UPDATE inventory.reservations SET expires_at = now() WHERE product_id = $1`, [productId])
    const expiries = await Promise.all(Array.from({ length: 20 }, () => callExpireReservations(stock.pools, 20)))
    let expired = expiries.reduce((sum, count) => sum + count, 0)
    while (expired < 50) expired += await callExpireReservations(stock.pools, 20)
    expect(expired).toBe(50)
    expect(await level()).toEqual({ on_hand: 60, reserved: 0 })
  })

  it('with one key have one effect, and get one answer', async () => {
    await begin(50)
    const caller = withKey('one key', 'content')
    const line = { type: 'ship', productId, locationId, quantity: 1 } as const
    const answers = await Promise.all(Array.from({ length: 30 }, () => callMoveStock(stock.pools, caller, [line])))
    expect(verdicts(answers)).toEqual({ done: 1, replayed: 29 })
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    expect(await level()).toEqual({ on_hand: 49, reserved: 0 })
  })
})

describe('an Idempotency-Key', () => {
  const reserveWith = (key: string, quantity: number, actor: string | null = null) =>
    callReserve(stock.pools, withKey(key, quantity, actor), { productId, locationId, quantity })

  it('belongs to its subject, and to one request', async () => {
    await begin(10)
    expect(await reserveWith('k1', 1)).toEqual(
      callResult({ verdict: 'done', body: shownReservation({ locationId, quantity: 1, remaining: 1 }) }),
    )
    expect(await reserveWith('k1', 2)).toEqual(callResult({ verdict: 'key-mismatch' }))
    expect(await reserveWith('k1', 2, 'another-client')).toEqual(
      callResult({ verdict: 'done', body: shownReservation({ locationId, quantity: 2, remaining: 2 }) }),
    )
    expect(await level()).toEqual({ on_hand: 10, reserved: 3 })
  })

  it('of a refused request may be used again', async () => {
    await begin(1)
    expect(await reserveWith('k2', 2)).toEqual(callResult({ verdict: 'insufficient-stock', quantity: 1 }))
    expect(await reserveWith('k2', 1)).toEqual(
      callResult({ verdict: 'done', body: shownReservation({ locationId, quantity: 1, remaining: 1 }) }),
    )
  })

  it('is free again after a day', async () => {
    await begin(10)
    await reserveWith('k3', 1)
    await stock.query(
      `UPDATE inventory.idempotency_keys SET created_at = now() - interval '24 hours 1 s' WHERE key = 'k3'`,
    )
    expect(await reserveWith('k3', 2)).toEqual(
      callResult({ verdict: 'done', body: shownReservation({ locationId, quantity: 2, remaining: 2 }) }),
    )
    expect(await reserveWith('k3', 2)).toEqual(
      callResult({ verdict: 'replayed', body: shownReservation({ locationId, quantity: 2, remaining: 2 }) }),
    )
  })

  it('is refused while its first request does not end', async () => {
    await begin(10)
    await stock.db.transaction().execute(async (trx) => {
      await trx
        .insertInto('idempotency_keys')
        .values({ subject: '', key: 'k4', path: '/test', request_hash: Buffer.alloc(32) })
        .execute()
      expect(await reserveWith('k4', 1)).toEqual(callResult({ verdict: 'key-running' }))
    })
    expect(await level()).toEqual({ on_hand: 10, reserved: 0 })
  })
})

describe('a product or location with stock', () => {
  const remove = (table: string, id: number) =>
    stock.query(`UPDATE inventory.${table} SET deleted_at = now() WHERE id = $1 RETURNING id`, [id])

  it('is not deleted, while one without stock is', async () => {
    await begin(1)
    await expect(remove('products', productId)).rejects.toHaveProperty('constraint', 'products_stock_check')
    await expect(remove('locations', locationId)).rejects.toHaveProperty('constraint', 'locations_stock_check')
    await move({ type: 'ship', productId, locationId, quantity: 1 })
    await remove('products', productId)
    await remove('locations', locationId)
    expect(await move({ type: 'count', productId, locationId, quantity: 0 })).toEqual(
      callResult({ verdict: 'product-not-found', line: 0 }),
    )
  })

  const receive = (db: Kysely<InventoryTables>) =>
    sql<{ verdict: string }>`
      SELECT verdict FROM inventory.move_stock(NULL, ${JSON.stringify([
        { type: 'receive', product_id: productId, location_id: locationId, on_hand_delta: 1 },
      ])})`.execute(db)

  it.each(['products', 'locations'] as const)(
    'is never among the deleted %s, whichever request comes first',
    async (table) => {
      const idOf = () => (table === 'products' ? productId : locationId)
      const removeIn = (db: Kysely<InventoryTables>) =>
        db.updateTable(table).set({ deleted_at: new Date() }).where('id', '=', BigInt(idOf())).execute()
      await begin()
      await using late = new AsyncDisposableStack()
      await stock.db.transaction().execute(async (trx) => {
        await receive(trx)
        const removal = expect(removeIn(stock.db)).rejects.toHaveProperty('constraint', `${table}_stock_check`)
        late.defer(() => removal)
        await expectWaiting()
      })
      await late.disposeAsync()
      await begin()
      await using later = new AsyncDisposableStack()
      await stock.db.transaction().execute(async (trx) => {
        await removeIn(trx)
        const receipt = receive(stock.db).then(({ rows }) =>
          expect(rows).toEqual([{ verdict: `${table.slice(0, -1)}-not-found` }]),
        )
        later.defer(() => receipt)
        await expectWaiting()
      })
      await later.disposeAsync()
      expect(await level()).toBeUndefined()
    },
  )
})

describe('the ledger', () => {
  it.each([
    'UPDATE inventory.movements SET reason = NULL',
    'DELETE FROM inventory.movements',
    'TRUNCATE inventory.movements',
  ])('refuses %s, even of its owner', async (statement) => {
    await expect(stock.query(statement)).rejects.toThrow('movements is append-only')
  })

  it.each<[string, string]>([
    ['on_hand = -1', 'stock_levels_on_hand_check'],
    ['on_hand = 1000000000001', 'stock_levels_on_hand_check'],
    ['reserved = on_hand + 1', 'stock_levels_reserved_check'],
    ['reserved = -1', 'stock_levels_reserved_check'],
  ])('has levels that cannot have %s', async (assignment, constraint) => {
    await begin(1)
    await expect(
      stock.query(`UPDATE inventory.stock_levels SET ${assignment} WHERE product_id = $1`, [productId]),
    ).rejects.toHaveProperty('constraint', constraint)
  })

  it('has a row for every change', async () => {
    await begin(10)
    const reserved = await reserve(4)
    const id = reserved.body?.id ?? 0
    await callCommitReservation(stock.pools, { actor: 'ada', idempotentRequest: undefined }, { id, quantity: 1 })
    await move({ type: 'transfer', productId, fromLocationId: locationId, toLocationId: otherLocationId, quantity: 2 })
    const rows = await stock.query(
      `SELECT type, location_id = $2 AS here, on_hand_delta, reserved_delta, on_hand_after, reserved_after, actor
       FROM inventory.movements WHERE product_id = $1 ORDER BY id`,
      [productId, locationId],
    )
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['receive', true, 10, 0, 10, 0, null],
      ['reserve', true, 0, 4, 10, 4, null],
      ['ship', true, -1, -1, 9, 3, 'ada'],
      ['transfer', true, -2, 0, 7, 3, null],
      ['transfer', false, 2, 0, 2, 0, null],
    ])
  })
})
