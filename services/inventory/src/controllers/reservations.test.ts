import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody, refusedBody, shownMovement, shownReservation } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { addStockedProduct, reservationRequests, type StockedProduct } from '../../test/reservation-requests.ts'
import { stockRequests } from '../../test/stock-requests.ts'

let inventory: TestInventory
let requests: ReturnType<typeof stockRequests>
let product: StockedProduct
let reservations: ReturnType<typeof reservationRequests>
let locationId: number
beforeAll(async () => {
  inventory = await startInventory()
  requests = stockRequests(inventory)
  locationId = await requests.addLocation()
})
afterAll(() => inventory.close())
beforeEach(async () => {
  product = await addStockedProduct(inventory, locationId)
  reservations = reservationRequests(inventory, product)
})

const ABSENT = 9_007_199_254_740_991
const record = (id: number, members: object) =>
  shownReservation({ id, ...product, quantity: 4, remaining: 4, ...members })
const over = (description: string) => refusedBody(409, 'CONFLICT', description)
const absent = refusedBody(404, 'RESOURCE_NOT_FOUND', 'The reservation you requested does not exist.')

describe('POST /reservations', () => {
  it('201: reserves stock, which stays on hand', async () => {
    const response = await reservations.reserve({ quantity: 4, reference: 'cart 1' })
    const { id } = response.json().data
    expect([response.statusCode, response.headers.location]).toEqual([201, `/reservations/${id}`])
    expect(response.json()).toEqual({ statusCode: 201, data: record(id, { reference: 'cart 1' }) })
    expect((await requests.get(`/reservations/${id}`)).json()).toEqual({ statusCode: 200, data: response.json().data })
    expect(await reservations.stock()).toEqual({ onHand: 10, reserved: 4, available: 6 })
  })

  it('201: reserves until the given seconds have passed', async () => {
    const { data } = expectBody(201, await reservations.reserve({ quantity: 4, expiresInSeconds: 2_592_000 }))
    expect(Date.parse(data.expiresAt) - Date.parse(data.createdAt)).toBe(2_592_000_000)
  })

  it('201: counts the time from now on, also when the level was changed by a clock that ran ahead', async () => {
    await inventory.query(
      `UPDATE inventory.stock_levels SET updated_at = now() + interval '1 hour' WHERE product_id = $1`,
      [product.productId],
    )
    const { data } = expectBody(201, await reservations.reserve({ quantity: 4, expiresInSeconds: 60 }))
    const [{ left } = {}] = await inventory.query(
      `SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM inventory.reservations WHERE id = $1`,
      [data.id],
    )
    expect(left).toBeLessThanOrEqual(60)
  })

  it('409: refuses more than is available', async () => {
    await reservations.begin({ quantity: 8 })
    const response = await reservations.reserve({ quantity: 3 })
    expect([response.statusCode, response.json()]).toEqual([
      409,
      refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available: 2 }),
    ])
    expect(await reservations.stock()).toEqual({ onHand: 10, reserved: 8, available: 2 })
  })

  // ASVS 2.3.2, 2.3.4
  it('201: ten of 200 parallel requests get the last ten units, and 190 get 409', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => reservations.reserve({ quantity: 1 })))
    const refused = answers.filter(({ statusCode }) => statusCode !== 201).map((answer) => answer.json())
    const none = refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available: 0 })
    expect(refused).toEqual(Array(190).fill(none))
    expect(await reservations.stock()).toEqual({ onHand: 10, reserved: 10, available: 0 })
  })

  it('404: refuses an unknown product or location', async () => {
    const body = { quantity: 1 }
    expect(envelopeOf(await reservations.reserve({ ...body, productId: ABSENT }))).toEqual(
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The product you requested does not exist.'),
    )
    expect(envelopeOf(await reservations.reserve({ ...body, locationId: ABSENT }))).toEqual(
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The location you requested does not exist.'),
    )
  })

  it('201: reserves once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': `reserve-${product.productId}` }
    const first = await reservations.reserve({ quantity: 4 }, key)
    await reservations.release(first.json().data.id)
    const again = await reservations.reserve({ quantity: 4 }, key)
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    expect(await reservations.stock()).toEqual({ onHand: 10, reserved: 0, available: 10 })
  })

  it('422: refuses the Idempotency-Key of another reservation, and reserves nothing', async () => {
    const key = { 'idempotency-key': `other-${product.productId}` }
    await reservations.reserve({ quantity: 4 }, key)
    expect(envelopeOf(await reservations.reserve({ quantity: 5 }, key))).toEqual(
      refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.'),
    )
    expect(await reservations.stock()).toEqual({ onHand: 10, reserved: 4, available: 6 })
  })

  it.each<[object, string, string]>([
    [{}, 'quantity', 'is required'],
    [{ quantity: 0 }, 'quantity', 'must be at least 1'],
    [{ quantity: '1.0' }, 'quantity', 'must be a whole number'],
    [{ quantity: 1, expiresInSeconds: 0 }, 'expiresInSeconds', 'must be at least 1'],
    [{ quantity: 1, expiresInSeconds: 2_592_001 }, 'expiresInSeconds', 'must be at most 2592000'],
    [{ quantity: 1, reference: 7 }, 'reference', 'must be a string'],
    [{ quantity: 1, status: 'active' }, 'status', 'is not known here'],
  ])('400: refuses %j, path "%s"', async (body, path, message) => {
    const response = await reservations.reserve(body)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      refusedBody(400, 'VALIDATION_ERROR', `${path}: ${message}`, { issues: [{ path, message }] }),
    ])
  })
})

describe('DELETE /reservations/:reservationId', () => {
  it('204: releases what remains once, however often it is asked', async () => {
    const id = await reservations.begin()
    await reservations.commit(id, { quantity: 1 })
    for (const response of [await reservations.release(id), await reservations.release(id)]) {
      expect([response.statusCode, response.body]).toEqual([204, ''])
    }
    expect((await requests.get(`/reservations/${id}`)).json().data).toEqual(
      record(id, { remaining: 0, status: 'released' }),
    )
    expect(await reservations.stock()).toEqual({ onHand: 9, reserved: 0, available: 9 })
    const { data } = (await requests.get(`/movements?productId=${product.productId}&type=release`)).json()
    expect(data).toEqual([
      shownMovement({
        ...product,
        type: 'release',
        onHandDelta: 0,
        reservedDelta: -3,
        onHandAfter: 9,
        reservationId: id,
      }),
    ])
  })

  // ASVS 2.3.1
  it('409: refuses a committed reservation', async () => {
    const id = await reservations.begin()
    await reservations.commit(id)
    const response = await reservations.release(id)
    expect([response.statusCode, response.json()]).toEqual([409, over('The reservation is committed.')])
  })

  it('409: refuses a due reservation, also before clean-up', async () => {
    const id = await reservations.begin({ quantity: 1, expiresInSeconds: 60 })
    await reservations.expire(id)
    for (const response of [await reservations.release(id), await reservations.release(id)]) {
      expect([response.statusCode, response.json()]).toEqual([409, over('The reservation has expired.')])
    }
    expect((await requests.get(`/reservations/${id}`)).json().data.status).toBe('expired')
    expect((await requests.get(`/movements?productId=${product.productId}&type=release`)).json()).toEqual({
      statusCode: 200,
      data: [],
    })
  })

  it('404: refuses an unknown id', async () => {
    expect(envelopeOf(await reservations.release(ABSENT))).toEqual(absent)
  })
})

describe('GET /reservations', () => {
  it('200: lists by id, with filters', async () => {
    const ids = [
      await reservations.begin({ quantity: 1, reference: 'a' }),
      await reservations.begin({ quantity: 1 }),
      await reservations.begin({ quantity: 1 }),
    ]
    await reservations.release(ids[1] ?? 0)
    const list = async (query: string) => {
      const response = await requests.get(`/reservations?${query}`)
      return {
        ids: expectBody(200, response).data.map(({ id }: { id: number }) => id),
        link: String(response.headers.link),
      }
    }
    const of = `productId=${product.productId}`
    expect((await list(of)).ids).toEqual(ids)
    expect((await list(`${of}&status=active`)).ids).toEqual([ids[0], ids[2]])
    expect((await list(`${of}&locationId=${locationId}&reference=a`)).ids).toEqual([ids[0]])
    expect((await list(`${of}&locationId=1`)).ids).toEqual([])
    const { link } = await list(`${of}&limit=2`)
    const next = /<\/reservations\?([^>]+)>; rel="next"/.exec(link)?.[1] ?? ''
    expect((await list(next)).ids).toEqual([ids[2]])
  })

  it('200: adds SKU and code with include=names', async () => {
    const id = await reservations.begin({ quantity: 4 })
    const { sku } = (await requests.get(`/products/${product.productId}`)).json().data
    const { code } = (await requests.get(`/locations/${locationId}`)).json().data
    const named = await requests.get(`/reservations?productId=${product.productId}&include=names`)
    expect(envelopeOf(named)).toEqual({
      statusCode: 200,
      data: [{ ...(await requests.get(`/reservations/${id}`)).json().data, sku, location: code }],
    })
  })

  it.each<[string, string, string]>([
    ['status=gone', 'status', 'must be one of active, committed, released, expired'],
    ['productId=x', 'productId', 'must be a whole number'],
    ['limit=0', 'limit', 'must be at least 1'],
    ['id=1', 'id', 'is not known here'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect(envelopeOf(await requests.get(`/reservations?${query}`))).toEqual(invalidBody(path, message))
  })
})

describe('GET /reservations/:reservationId', () => {
  it('404: refuses an unknown id', async () => {
    const response = await requests.get(`/reservations/${ABSENT}`)
    expect([response.statusCode, envelopeOf(response)]).toEqual([404, absent])
  })
})

describe('a reservation that is due', () => {
  it('200: is shown as expired, and its stock is free, before clean-up', async () => {
    const replica = await startInventory({}, { cleanUpEveryMs: 3_600_000 })
    const own = stockRequests(replica)
    const taken = { productId: await own.addProduct(), locationId: 1, quantity: 5 }
    await own.move({ type: 'receive', ...taken })
    const first = (await own.reserve({ ...taken, reference: 'DUE', expiresInSeconds: 60 })).json().data.id
    expect(envelopeOf(await own.reserve(taken))).toEqual(
      refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available: 0 }),
    )
    const pass = (id: number) =>
      replica.query('UPDATE inventory.reservations SET expires_at = now() WHERE id = $1', [id])
    await pass(first)
    const shown = shownReservation({
      id: first,
      productId: taken.productId,
      locationId: 1,
      status: 'expired',
      remaining: 0,
      quantity: 5,
      reference: 'DUE',
      expiresAt: anyTime,
    })
    expect(envelopeOf(await own.get(`/reservations/${first}`))).toEqual({ statusCode: 200, data: shown })
    expect(envelopeOf(await own.get('/reservations?reference=DUE&status=expired'))).toEqual({
      statusCode: 200,
      data: [shown],
    })
    expect(envelopeOf(await own.get('/reservations?reference=DUE&status=active'))).toEqual({
      statusCode: 200,
      data: [],
    })
    expect(await replica.query('SELECT status FROM inventory.reservations WHERE id = $1', [first])).toEqual([
      { status: 'active' },
    ])
    const second = await own.reserve({ ...taken, expiresInSeconds: 60 })
    expect(second.statusCode).toBe(201)
    await pass(second.json().data.id)
    expect(envelopeOf(await own.move({ type: 'ship', ...taken })).data.levels).toEqual([
      {
        onHand: 0,
        reserved: 0,
        productId: expect.any(Number),
        locationId: expect.any(Number),
        available: 0,
        updatedAt: anyTime,
      },
    ])
    expect(envelopeOf(await own.get('/movements?type=expire')).data).toEqual([
      shownMovement({
        type: 'expire',
        onHandDelta: 0,
        reservedDelta: -5,
        onHandAfter: 5,
        reservationId: second.json().data.id,
      }),
      shownMovement({
        type: 'expire',
        onHandDelta: 0,
        reservedDelta: -5,
        onHandAfter: 5,
        reference: 'DUE',
        reservationId: first,
      }),
    ])
    await replica.close()
  })
})
