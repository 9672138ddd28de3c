import { anyTime } from '@trestle/testing/any-text.ts'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyNumber, envelopeOf, expectBody, invalidBody, refusedBody, shownMovement } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { stockRequests } from '../../test/stock-requests.ts'

let inventory: TestInventory
let requests: ReturnType<typeof stockRequests>
let productId: number
let locationId: number
let otherId: number
beforeAll(async () => {
  inventory = await startInventory()
  requests = stockRequests(inventory)
  ;[productId, locationId, otherId] = [
    await requests.addProduct(),
    await requests.addLocation(),
    await requests.addLocation(),
  ]
})
afterAll(() => inventory.close())

const ABSENT = 9_007_199_254_740_991
const get = (url: string) => requests.get(url)
const move = (body: object | string, headers?: Record<string, string>) => requests.move(body, headers)
const at = () => ({ productId, locationId })
const level = (onHand: number, reserved = 0, place = at()) => ({
  ...{ ...place, onHand, reserved, available: onHand - reserved, updatedAt: anyTime },
})
/** The complete answer to `GET /stock/:productId` for a product at one location. */
const stockOf = (onHand: number, reserved = 0) => ({
  statusCode: 200,
  data: { productId, onHand, reserved, available: onHand - reserved, locations: [level(onHand, reserved)] },
})
/** The complete answer to one movement. */
const written = (after: object) => ({ statusCode: 201, data: { id: anyNumber, ids: [anyNumber], levels: [after] } })
/** Creates a product with this quantity on hand. */
async function begin(onHand: number): Promise<void> {
  productId = await requests.addProduct()
  if (onHand > 0) await move({ type: 'receive', ...at(), quantity: onHand })
}
const insufficient = (available: number, details = {}) =>
  refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available, ...details })

describe('POST /movements', () => {
  it('201: answers with the rows that were written, and the level after them', async () => {
    await begin(0)
    const response = await move({ type: 'receive', ...at(), quantity: 10, reason: 'New', reference: 'PO-7' })
    const { id } = response.json().data
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ statusCode: 201, data: { id, ids: [id], levels: [level(10)] } })
    const { location, 'content-type': type, 'cache-control': caching } = response.headers
    expect([location, type, caching]).toEqual([`/movements/${id}`, 'application/json; charset=utf-8', 'no-store'])
    expect((await get(`/movements/${id}`)).json()).toEqual({
      statusCode: 200,
      data: {
        ...{ id, ...at(), type: 'receive', onHandDelta: 10, reservedDelta: 0, onHandAfter: 10, reservedAfter: 0 },
        ...{ reason: 'New', reference: 'PO-7', transferId: null, reservationId: null, actor: null, createdAt: anyTime },
      },
    })
  })

  it.each<[object, number]>([
    [{ type: 'ship', quantity: 10 }, 0],
    [{ type: 'ship', quantity: 3, expectedOnHand: 10 }, 7],
    [{ type: 'adjust', delta: -10, reason: 'broken' }, 0],
    [{ type: 'adjust', delta: 5, reason: 'found' }, 15],
    [{ type: 'count', quantity: 0 }, 0],
    [{ type: 'count', quantity: 10 }, 10],
    [{ type: 'count', quantity: 1_000_000_000_000 }, 1_000_000_000_000],
    [{ type: 'receive', quantity: 999_999_999_990 }, 1_000_000_000_000],
  ])('201: the movement %j changes 10 on hand to %i', async (line, onHand) => {
    await begin(10)
    const response = await move({ ...line, ...at() })
    expect(response.json()).toEqual(written(level(onHand)))
    expect(response.statusCode).toBe(201)
  })

  it('201: a transfer writes two rows with one transferId', async () => {
    await begin(10)
    const response = await move({
      ...{ type: 'transfer', productId, fromLocationId: locationId, toLocationId: otherId, quantity: 4 },
    })
    const { ids } = response.json().data
    const levels = [level(6), level(4, 0, { productId, locationId: otherId })]
    expect(response.json()).toEqual({
      statusCode: 201,
      data: { id: ids[0], ids: [anyNumber, anyNumber], levels },
    })
    const rows = await Promise.all(ids.map(async (id: number) => (await get(`/movements/${id}`)).json().data))
    expect(rows).toEqual([
      shownMovement({ productId, locationId, type: 'transfer', onHandDelta: -4, onHandAfter: 6, transferId: ids[0] }),
      shownMovement({
        productId,
        locationId: otherId,
        type: 'transfer',
        onHandDelta: 4,
        onHandAfter: 4,
        transferId: ids[0],
      }),
    ])
  })

  it('201: carries lines out in their order', async () => {
    await begin(0)
    const response = await move({
      lines: [
        { type: 'receive', ...at(), quantity: 5 },
        { type: 'ship', ...at(), quantity: 4, expectedOnHand: 5 },
        { type: 'count', ...at(), quantity: 9 },
      ],
    })
    const { id } = response.json().data
    expect(response.json()).toEqual({
      statusCode: 201,
      data: { id, ids: [id, anyNumber, anyNumber], levels: [level(9)] },
    })
  })

  // ASVS 2.3.3
  it('409: carries out all lines, or none', async () => {
    await begin(3)
    const before = await inventory.query('SELECT count(*) FROM inventory.movements')
    const response = await move({
      lines: [
        { type: 'receive', productId, locationId: otherId, quantity: 5 },
        { type: 'ship', ...at(), quantity: 4 },
      ],
    })
    expect(envelopeOf(response)).toEqual(
      refusedBody(
        409,
        'INSUFFICIENT_STOCK',
        'There is not enough stock available for this line, after the lines before it.',
        { available: 3, line: 1 },
      ),
    )
    expect(await inventory.query('SELECT count(*) FROM inventory.movements')).toEqual(before)
    expect(envelopeOf(await get(`/stock/${productId}`))).toEqual(stockOf(3))
  })

  it('409: reports the quantity before the batch, not after its earlier lines', async () => {
    await begin(3)
    const receive = { type: 'receive', ...at(), quantity: 5 }
    const short = await move({ lines: [receive, { type: 'ship', ...at(), quantity: 9 }] })
    expect([short.statusCode, short.json()]).toEqual([
      409,
      refusedBody(
        409,
        'INSUFFICIENT_STOCK',
        'There is not enough stock available for this line, after the lines before it.',
        { available: 3, line: 1 },
      ),
    ])
    const stale = await move({ lines: [receive, { type: 'ship', ...at(), quantity: 1, expectedOnHand: 3 }] })
    expect(stale.json()).toEqual({
      error: {
        type: 'STALE_QUANTITY',
        current: 3,
        line: 1,
        description: 'The quantity on hand, after the lines before this one, is not the expected one.',
      },
      statusCode: 409,
    })
    expect((await get(`/stock/${productId}`)).json()).toEqual(stockOf(3))
  })

  // ASVS 1.4.2
  it.each(['1.00000000000000000001', '0.99999999999999999999', '1e-30', '1000000000000.00001'])(
    '400: refuses the quantity %s, which is whole only after rounding',
    async (quantity) => {
      await begin(3)
      const line = `{"type":"receive","productId":${productId},"locationId":${locationId},"quantity":${quantity}}`
      for (const [body, path] of [
        [line, 'quantity'],
        [`{"lines":[${line}]}`, 'lines.0.quantity'],
      ] as const) {
        expect(envelopeOf(await move(body))).toEqual(invalidBody(path, 'must be a whole number'))
      }
      expect(envelopeOf(await get(`/stock/${productId}`))).toEqual(stockOf(3))
    },
  )

  it.each(['2', '2.0', '0.2e1', '200e-2'])('201: accepts the whole quantity %s', async (quantity) => {
    await begin(0)
    const response = await move(
      `{"type":"receive","productId":${productId},"locationId":${locationId},"quantity":${quantity}}`,
    )
    expect(response.json()).toEqual(written(level(2)))
  })

  it.each<[object, object]>([
    [{ type: 'ship', quantity: 11 }, insufficient(8)],
    [{ type: 'ship', quantity: 9 }, insufficient(8)],
    [{ type: 'adjust', delta: -9, reason: 'broken' }, insufficient(8)],
    [
      { type: 'count', quantity: 1 },
      refusedBody(
        409,
        'INSUFFICIENT_STOCK',
        'More is reserved than was counted: release or commit reservations first.',
        { available: 8, reserved: 2 },
      ),
    ],
    [
      { type: 'ship', quantity: 1, expectedOnHand: 9 },
      refusedBody(409, 'STALE_QUANTITY', 'The quantity on hand is not the expected one.', { current: 10 }),
    ],
    [
      { type: 'receive', quantity: 1_000_000_000_000 },
      refusedBody(409, 'CONFLICT', 'The quantity on hand would be above 1000000000000.'),
    ],
  ])('409: refuses %j with 10 on hand and 2 reserved', async (line, body) => {
    await begin(10)
    await requests.reserve({ ...at(), quantity: 2 })
    const response = await move({ ...line, ...at() })
    expect([response.statusCode, response.json()]).toEqual([409, body])
    expect((await get(`/stock/${productId}`)).json()).toEqual(stockOf(10, 2))
  })

  it('409: an inactive location refuses incoming stock, but ships', async () => {
    await begin(10)
    await requests.send('PATCH', `/locations/${locationId}`, { active: false })
    const body = refusedBody(409, 'CONFLICT', 'The location is not active: it takes no stock.')
    for (const line of [
      { type: 'receive', quantity: 1 },
      { type: 'adjust', delta: 1, reason: 'found' },
      { type: 'count', quantity: 11 },
    ]) {
      const response = await move({ ...line, ...at() })
      expect([response.statusCode, response.json()]).toEqual([409, body])
    }
    expect((await move({ type: 'ship', ...at(), quantity: 1 })).statusCode).toBe(201)
    await requests.send('PATCH', `/locations/${locationId}`, { active: true })
  })

  it.each(['receive', 'ship', 'count'])('404: refuses to %s an unknown product', async (type) => {
    const product = refusedBody(404, 'RESOURCE_NOT_FOUND', 'The product you requested does not exist.')
    const location = refusedBody(404, 'RESOURCE_NOT_FOUND', 'The location you requested does not exist.')
    const levels = await inventory.query('SELECT count(*) FROM inventory.stock_levels')
    expect(envelopeOf(await move({ type, productId: ABSENT, locationId, quantity: 1 }))).toEqual(product)
    expect(envelopeOf(await move({ type, productId, locationId: ABSENT, quantity: 1 }))).toEqual(location)
    expect(await inventory.query('SELECT count(*) FROM inventory.stock_levels')).toEqual(levels)
  })

  it('201: moves once for an Idempotency-Key, and repeats the answer', async () => {
    await begin(10)
    const key = { 'idempotency-key': 'ship-once' }
    const line = { type: 'ship', ...at(), quantity: 4 }
    const first = await move(line, key)
    await move({ type: 'ship', ...at(), quantity: 1 })
    const again = await move(line, key)
    expect([again.statusCode, again.body, again.headers.location]).toEqual([201, first.body, first.headers.location])
    expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([undefined, 'true'])
    expect((await get(`/stock/${productId}`)).json()).toEqual(stockOf(5))
  })

  it('422: a movement keeps its Idempotency-Key from a reservation', async () => {
    await begin(10)
    const key = { 'idempotency-key': 'ship-and-reserve' }
    await move({ type: 'ship', ...at(), quantity: 4 }, key)
    expect(envelopeOf(await requests.reserve({ ...at(), quantity: 1 }, key))).toEqual(
      refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.'),
    )
  })

  it('201: carries out one of many parallel requests with one key', async () => {
    await begin(10)
    const key = { 'idempotency-key': 'ship-race' }
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => move({ type: 'ship', ...at(), quantity: 1 }, key)),
    )
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).size).toBe(1)
    expect((await get(`/stock/${productId}`)).json()).toEqual(stockOf(9))
  })

  it('409: refuses a request while the first one with its key still runs', async () => {
    await begin(10)
    const line = { type: 'ship', ...at(), quantity: 1 }
    const client = new pg.Client({ connectionString: inventory.databaseUrl })
    await client.connect()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO inventory.idempotency_keys (subject, key, path, request_hash) VALUES ('', 'busy', '', $1)`,
      [Buffer.alloc(32)],
    )
    const response = await move(line, { 'idempotency-key': 'busy' })
    await client.query('ROLLBACK')
    await client.end()
    expect([response.statusCode, response.headers['retry-after'], response.json()]).toEqual([
      409,
      '1',
      refusedBody(409, 'CONFLICT', 'A request with this Idempotency-Key is still running.'),
    ])
    expect((await move(line, { 'idempotency-key': 'busy' })).statusCode).toBe(201)
  })

  // ASVS 2.2.1, 2.2.2, 2.2.3, 15.3.5
  it.each<[object, string, string]>([
    [{}, 'type', 'is required'],
    [{ type: 'steal', quantity: 1 }, 'type', 'must be one of receive, ship, adjust, count, transfer'],
    [{ type: 'receive', locationId: 1, quantity: 1 }, 'productId', 'is required'],
    [{ type: 'receive', productId: 1, quantity: 1 }, 'locationId', 'is required'],
    [{ type: 'receive', productId: 1, locationId: 1 }, 'quantity', 'is required'],
    [{ type: 'receive', productId: 1, locationId: 1, quantity: 0 }, 'quantity', 'must be at least 1'],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: -1 }, 'quantity', 'must be at least 1'],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: 1.5 }, 'quantity', 'must be a whole number'],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: '01' }, 'quantity', 'must be a whole number'],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: 1e12 + 1 }, 'quantity', 'must be at most 1000000000000'],
    [{ type: 'ship', productId: 0, locationId: 1, quantity: 1 }, 'productId', 'must be at least 1'],
    [{ type: 'ship', productId: 'a', locationId: 1, quantity: 1 }, 'productId', 'must be a whole number'],
    [{ type: 'ship', productId: null, locationId: 1, quantity: 1 }, 'productId', 'must be a whole number'],
    [{ type: 'adjust', productId: 1, locationId: 1, delta: 1 }, 'reason', 'is required'],
    [{ type: 'adjust', productId: 1, locationId: 1, delta: 0, reason: 'x' }, 'delta', 'must not be 0'],
    [
      { type: 'adjust', productId: 1, locationId: 1, quantity: -1, reason: 'x' },
      'quantity',
      'is of another type of movement: adjust takes delta',
    ],
    [
      { type: 'receive', productId: 1, locationId: 1, delta: 5 },
      'delta',
      'is of another type of movement: receive takes quantity',
    ],
    [
      { type: 'transfer', productId: 1, locationId: 1, toLocationId: 2, quantity: 1 },
      'locationId',
      'is of another type of movement: transfer takes fromLocationId and toLocationId',
    ],
    [
      { lines: [{ type: 'adjust', productId: 1, locationId: 1, quantity: -1, reason: 'x' }] },
      'lines.0.quantity',
      'is of another type of movement: adjust takes delta',
    ],
    [{ type: 'count', productId: 1, locationId: 1, quantity: -1 }, 'quantity', 'must be at least 0'],
    [
      { type: 'transfer', productId: 1, fromLocationId: 1, toLocationId: 1, quantity: 1 },
      'toLocationId',
      'must be another location than fromLocationId',
    ],
    [{ type: 'transfer', productId: 1, fromLocationId: 1, quantity: 1 }, 'toLocationId', 'is required'],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: 1, reason: '' }, 'reason', 'must not be empty'],
    [
      { type: 'ship', productId: 1, locationId: 1, quantity: 1, reference: 'x'.repeat(256) },
      'reference',
      'must have at most 255 characters',
    ],
    [
      { type: 'ship', productId: 1, locationId: 1, quantity: 1, expectedOnHand: -1 },
      'expectedOnHand',
      'must be at least 0',
    ],
    [{ type: 'ship', productId: 1, locationId: 1, quantity: 1, id: 7 }, 'id', 'is not known here'],
    [{ lines: [] }, 'lines', 'must have 1 to 100 lines'],
    [{ lines: { length: { toString: 0 } } }, 'lines', 'must be a list'],
    [
      { lines: Array.from({ length: 101 }, () => ({ type: 'count', productId: 1, locationId: 1, quantity: 0 })) },
      'lines',
      'must have 1 to 100 lines',
    ],
    [{ lines: 'x' }, 'lines', 'must be a list'],
    [{ lines: { type: 'ship' } }, 'lines', 'must be a list'],
    [{ lines: [{ type: 'ship', productId: 1, locationId: 1, quantity: 0 }] }, 'lines.0.quantity', 'must be at least 1'],
    [{ lines: [{ type: 'ship', productId: 1, locationId: 1 }] }, 'lines.0.quantity', 'is required'],
    [{ lines: [{ type: 'adjust', productId: 1, locationId: 1, delta: 1 }] }, 'lines.0.reason', 'is required'],
    [{ lines: [{ type: 'ship', productId: 1, locationId: 1, quantity: 1, x: 1 }] }, 'lines.0.x', 'is not known here'],
    [
      { lines: [{ type: 'ship', productId: 1, locationId: 1, quantity: 1 }], type: 'ship' },
      'type',
      'must not stand beside lines',
    ],
  ])('400: refuses %j, path "%s"', async (body, path, message) => {
    const response = await move(body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(invalidBody(path, message))
  })

  it.each(['[]', '"x"', 'null', '{"type":'])('400: refuses the body %s', async (body) => {
    expect(envelopeOf(await move(body))).toEqual({
      statusCode: 400,
      error: { type: 'BAD_REQUEST', description: expect.any(String) },
    })
  })
})

describe('GET /movements', () => {
  let ids: number[]
  beforeEach(async () => {
    await begin(0)
    ids = []
    for (let count = 1; count <= 7; count++) {
      const place = { productId, locationId: count % 2 === 0 ? otherId : locationId }
      const response = await move({ type: 'receive', ...place, quantity: count, reference: `order ${count % 3}` })
      ids.unshift(response.json().data.id)
    }
    const response = await move({ type: 'ship', productId, locationId: otherId, quantity: 1, reference: 'shipment' })
    ids.unshift(response.json().data.id)
  })
  const list = async (query: string) => {
    const response = await get(`/movements?productId=${productId}${query}`)
    const next = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
    return { next, ids: expectBody(200, response).data.map(({ id }: { id: number }) => id) }
  }
  const every = (...places: number[]) => places.map((place) => ids[place])

  it('200: lists movements, newest first', async () => {
    expect((await list('')).ids).toEqual(ids)
  })

  it('200: adds SKU and code with include=names', async () => {
    const [plain] = (await get(`/movements?productId=${productId}&limit=1`)).json().data
    const { sku } = (await get(`/products/${productId}`)).json().data
    const { code } = (await get(`/locations/${otherId}`)).json().data
    const named = await get(`/movements?productId=${productId}&limit=1&include=names`)
    expect(named.json()).toEqual({ statusCode: 200, data: [{ ...plain, sku, location: code }] })
  })

  it.each([1, 3, 8])('200: pages of %i show each movement once, while others are added', async (limit) => {
    const seen: number[] = []
    for (let url: string | undefined = `/movements?productId=${productId}&limit=${limit}&type=receive`; url; ) {
      const response = await get(url)
      seen.push(...expectBody(200, response).data.map(({ id }: { id: number }) => id))
      url = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
      await move({ type: 'count', ...at(), quantity: 50 })
    }
    expect(seen).toEqual(ids.slice(1))
  })

  it('200: filters by product, location, type and reference together', async () => {
    expect((await list(`&locationId=${otherId}`)).ids).toEqual(every(0, 2, 4, 6))
    expect((await list('&type=ship')).ids).toEqual(every(0))
    expect((await list('&reference=order+1')).ids).toEqual(every(1, 4, 7))
    expect((await list(`&reference=order+1&locationId=${otherId}`)).ids).toEqual(every(4))
    expect((await list("&reference=' OR true --")).ids).toEqual([])
    expect((await list('&reference=shipment')).ids).toEqual(every(0))
  })

  it('200: filters by time: from is included, to is not', async () => {
    const { createdAt } = (await get(`/movements/${ids[3]}`)).json().data
    const before = await list(`&type=receive&to=${createdAt}`)
    const since = await list(`&type=receive&from=${createdAt.replace('Z', '%2B00:00')}`)
    expect([...since.ids, ...before.ids]).toEqual(ids.slice(1))
    expect(since.ids).toContain(ids[3])
    expect((await get('/movements?from=2999-01-01T00:00:00Z')).json()).toEqual({ statusCode: 200, data: [] })
  })

  it.each<[string, string, string]>([
    ['productId=0', 'productId', 'must be at least 1'],
    ['type=steal', 'type', 'must be one of receive, ship, adjust, count, transfer, reserve, release, expire'],
    ['from=yesterday', 'from', 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z'],
    ['to=2026-02-30', 'to', 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z'],
    ['limit=501', 'limit', 'must be at most 500'],
    ['cursor=x', 'cursor', 'must come from the Link header of a page of this list'],
    ['actor=x', 'actor', 'is not known here'],
    ['type=ship&type=ship', 'type', 'must be one of receive, ship, adjust, count, transfer, reserve, release, expire'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect((await get(`/movements?${query}`)).json()).toEqual(invalidBody(path, message))
  })

  it('400: refuses the cursor of other filters', async () => {
    const { next = '' } = await list('&limit=1')
    const response = await get(next.replace(`productId=${productId}`, 'productId=1'))
    expect(response.json()).toEqual(invalidBody('cursor', 'must come from the Link header of a page of this list'))
  })
})

describe('GET /movements/:movementId', () => {
  it('404: refuses an unknown id', async () => {
    const response = await get(`/movements/${ABSENT}`)
    expect([response.statusCode, response.json()]).toEqual([
      404,
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The movement you requested does not exist.'),
    ])
  })

  it.each<[string, string]>([
    ['0', 'must be at least 1'],
    ['abc', 'must be a whole number'],
    ['1.0', 'must be a whole number'],
  ])('400: refuses the id %s', async (id, message) => {
    expect(envelopeOf(await get(`/movements/${id}`))).toEqual(invalidBody('movementId', message))
  })

  it('405: refuses to change the ledger', async () => {
    const response = await requests.send('DELETE', '/movements/1')
    const refused = refusedBody(405, 'NOT_ALLOWED', 'The method is not allowed here.')
    expect([envelopeOf(response), response.headers.allow]).toEqual([refused, 'GET, HEAD, OPTIONS'])
  })
})
