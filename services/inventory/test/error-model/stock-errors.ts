import pg from 'pg'
import * as errors from '../../src/errors.ts'
import { type Answer, type ErrorCase, type ErrorCases, json, send, unique, type World } from './error-case.ts'

const NO_ID = 999_999
const MOVE = 'post /movements'
const RESERVE = 'post /reservations'
const COMMIT = 'post /reservations/commit/{reservationId}'
const RELEASE = 'delete /reservations/{reservationId}'

interface Place {
  readonly productId: number
  readonly locationId: number
}

/** A product with 10 units at a location. */
async function stockUp(world: World): Promise<Place> {
  const { addProduct, addLocation, move } = await world.stock()
  const place = { productId: await addProduct(), locationId: await addLocation() }
  await move({ type: 'receive', ...place, quantity: 10 })
  return place
}

const movement = (expected: ErrorCase['expected'], makeBody: (place: Place) => object): ErrorCase => ({
  operation: MOVE,
  ...(expected === undefined ? {} : { expected }),
  raise: async (world) => {
    const place = await stockUp(world)
    return send(await world.service(), json('POST', '/movements', makeBody(place)))
  },
})

const reserve = (makeBody: (place: Place) => object, expected?: ErrorCase['expected']): ErrorCase => ({
  operation: RESERVE,
  ...(expected === undefined ? {} : { expected }),
  raise: async (world) => send(await world.service(), json('POST', '/reservations', makeBody(await stockUp(world)))),
})

/** A count of 3, where 4 of 10 units are reserved. */
const countOf = (
  expected: ErrorCase['expected'],
  makeBody: (line: Place & { readonly type: 'count'; readonly quantity: number }) => object,
): ErrorCase => ({
  operation: MOVE,
  ...(expected === undefined ? {} : { expected }),
  raise: async (world) => {
    const place = await stockUp(world)
    await (await world.stock()).reserve({ ...place, quantity: 4 })
    return send(await world.service(), json('POST', '/movements', makeBody({ ...place, type: 'count', quantity: 3 })))
  },
})

/** A reservation of 4 units, after an act. */
const ofReservation = (
  operation: typeof COMMIT | typeof RELEASE,
  prepare: (world: World, id: number) => Promise<unknown>,
  rest: { readonly expected?: ErrorCase['expected']; readonly body?: object } = {},
): ErrorCase => ({
  operation,
  ...(rest.expected === undefined ? {} : { expected: rest.expected }),
  raise: async (world) => {
    const place = await stockUp(world)
    const reserved = await (await world.stock()).reserve({ ...place, quantity: 4 })
    const { id } = reserved.json().data
    await prepare(world, id)
    return end(world, operation, id, rest.body)
  },
})

async function end(world: World, operation: string, id: number, body: object = {}): Promise<Answer> {
  const service = await world.service()
  return operation === RELEASE
    ? send(service, { method: 'DELETE', url: `/reservations/${id}` })
    : send(service, json('POST', `/reservations/commit/${id}`, body))
}

const commit = async (world: World, id: number) => end(world, COMMIT, id)
const release = async (world: World, id: number) => end(world, RELEASE, id)
const expire = (world: World, id: number) =>
  world.query('UPDATE inventory.reservations SET expires_at = now() WHERE id = $1', [id])

/** While another connection holds the key of a request. */
const running = (operation: string, makeRequest: (world: World) => Promise<readonly [string, object]>): ErrorCase => ({
  operation,
  raise: async (world) => {
    const service = await world.service()
    const [url, body] = await makeRequest(world)
    const key = unique()
    const client = new pg.Client({ connectionString: world.databaseUrl() })
    await client.connect()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO inventory.idempotency_keys (subject, key, path, request_hash) VALUES ('', $1, '', $2)`,
      [key, Buffer.alloc(32)],
    )
    const answer = await send(service, json('POST', url, body, { 'idempotency-key': key }))
    await client.query('ROLLBACK')
    await client.end()
    return answer
  },
})

const mismatched = (operation: string, makeUrl: (world: World) => Promise<string>, bodies: readonly object[]) => ({
  operation,
  raise: async (world: World) => {
    const service = await world.service()
    const [url, place] = [await makeUrl(world), await stockUp(world)]
    const key = { 'idempotency-key': unique() }
    const [first = {}, second = {}] = bodies
    await send(service, json('POST', url, { ...place, ...first }, key))
    return send(service, json('POST', url, { ...place, ...second }, key))
  },
})

export const stockErrors: ErrorCases = {
  productNotFound: [
    movement(undefined, (place) => ({ type: 'receive', ...place, productId: NO_ID, quantity: 1 })),
    reserve((place) => ({ ...place, productId: NO_ID, quantity: 1 })),
  ],
  locationNotFound: [
    movement(undefined, (place) => ({ type: 'receive', ...place, locationId: NO_ID, quantity: 1 })),
    reserve((place) => ({ ...place, locationId: NO_ID, quantity: 1 })),
  ],
  locationInactive: [
    {
      operation: MOVE,
      raise: async (world) => {
        const place = await stockUp(world)
        await (await world.stock()).send('PATCH', `/locations/${place.locationId}`, { active: false })
        return send(await world.service(), json('POST', '/movements', { type: 'receive', ...place, quantity: 1 }))
      },
    },
  ],
  insufficientStock: [
    movement(errors.insufficientStock({ details: { available: 10 } }), (place) => ({
      type: 'ship',
      ...place,
      quantity: 11,
    })),
    movement(errors.insufficientStock({ details: { available: 10, line: 0 } }), (place) => ({
      lines: [
        { type: 'ship', ...place, quantity: 11 },
        { type: 'receive', ...place, quantity: 1 },
      ],
    })),
    reserve((place) => ({ ...place, quantity: 11 }), errors.insufficientStock({ details: { available: 10 } })),
  ],
  insufficientStockForLine: [
    movement(errors.insufficientStockForLine({ details: { available: 10, line: 1 } }), (place) => ({
      lines: [
        { type: 'ship', ...place, quantity: 1 },
        { type: 'ship', ...place, quantity: 10 },
      ],
    })),
  ],
  countBelowReserved: [
    countOf(errors.countBelowReserved({ details: { available: 6, reserved: 4 } }), (line) => line),
    countOf(
      errors.countBelowReserved({ details: { available: 6, reserved: 4, line: 1 } }),
      ({ quantity, ...line }) => ({
        lines: [
          { ...line, type: 'ship', quantity: 1 },
          { ...line, quantity },
        ],
      }),
    ),
  ],
  staleQuantity: [
    movement(errors.staleQuantity({ details: { current: 10 } }), (place) => ({
      type: 'ship',
      ...place,
      quantity: 1,
      expectedOnHand: 9,
    })),
  ],
  staleQuantityForLine: [
    movement(errors.staleQuantityForLine({ details: { current: 10, line: 1 } }), (place) => ({
      lines: [
        { type: 'ship', ...place, quantity: 1 },
        { type: 'ship', ...place, quantity: 1, expectedOnHand: 10 },
      ],
    })),
  ],
  quantityAboveLimit: [movement(undefined, (place) => ({ type: 'receive', ...place, quantity: 1_000_000_000_000 }))],
  reservationNotFound: [
    {
      operation: 'get /reservations/{reservationId}',
      raise: async (world) => send(await world.service(), { url: `/reservations/${NO_ID}` }),
    },
    { operation: COMMIT, raise: (world) => end(world, COMMIT, NO_ID) },
    { operation: RELEASE, raise: (world) => end(world, RELEASE, NO_ID) },
  ],
  reservationCommitted: [ofReservation(COMMIT, commit), ofReservation(RELEASE, commit)],
  reservationReleased: [ofReservation(COMMIT, release)],
  reservationExpired: [ofReservation(COMMIT, expire), ofReservation(RELEASE, expire)],
  aboveRemaining: [
    ofReservation(COMMIT, async () => {}, {
      body: { quantity: 5 },
      expected: errors.aboveRemaining({ details: { remaining: 4 } }),
    }),
  ],
  keyRunning: [
    running('post /products', async () => ['/products', { sku: unique(), attributes: '{}' }]),
    running('post /locations', async () => ['/locations', { code: unique(), name: 'A shelf' }]),
    running(MOVE, async (world) => ['/movements', { type: 'receive', ...(await stockUp(world)), quantity: 1 }]),
    running(RESERVE, async (world) => ['/reservations', { ...(await stockUp(world)), quantity: 1 }]),
    running(COMMIT, async () => [`/reservations/commit/${NO_ID}`, {}]),
  ],
  keyMismatch: [
    mismatched(MOVE, async () => '/movements', [
      { type: 'receive', quantity: 1 },
      { type: 'receive', quantity: 2 },
    ]),
    mismatched(RESERVE, async () => '/reservations', [{ quantity: 1 }, { quantity: 2 }]),
    {
      operation: COMMIT,
      raise: async (world) => {
        const service = await world.service()
        const { reserve: reserveStock } = await world.stock()
        const { id } = (await reserveStock({ ...(await stockUp(world)), quantity: 4 })).json().data
        const key = { 'idempotency-key': unique() }
        await send(service, json('POST', `/reservations/commit/${id}`, { quantity: 1 }, key))
        return send(service, json('POST', `/reservations/commit/${id}`, { quantity: 2 }, key))
      },
    },
  ],
}
