import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, invalidBody, refusedBody, shownMovement, shownReservation } from '../../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../../test/inventory-app.ts'
import { addStockedProduct, reservationRequests, type StockedProduct } from '../../../test/reservation-requests.ts'
import { stockRequests } from '../../../test/stock-requests.ts'

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

describe('POST /reservations/commit/:reservationId', () => {
  it('200: ships all that remains', async () => {
    const id = await reservations.begin({ quantity: 4, reference: 'cart 2' })
    const response = await reservations.commit(id)
    const data = record(id, { remaining: 0, status: 'committed', reference: 'cart 2' })
    expect([response.statusCode, response.json()]).toEqual([200, { statusCode: 200, data }])
    expect(await reservations.stock()).toEqual({ onHand: 6, reserved: 0, available: 6 })
    expect((await requests.get(`/movements?productId=${product.productId}&type=ship`)).json().data).toEqual([
      shownMovement({
        ...product,
        type: 'ship',
        onHandDelta: -4,
        reservedDelta: -4,
        onHandAfter: 6,
        reservedAfter: 0,
        reference: 'cart 2',
        reservationId: id,
      }),
    ])
  })

  it('200: ships a part, and the rest later', async () => {
    const id = await reservations.begin()
    const part = await reservations.commit(id, { quantity: 3 })
    expect([part.statusCode, part.json()]).toEqual([200, { statusCode: 200, data: record(id, { remaining: 1 }) }])
    expect(await reservations.stock()).toEqual({ onHand: 7, reserved: 1, available: 6 })
    const rest = await reservations.commit(id)
    const data = record(id, { remaining: 0, status: 'committed' })
    expect([rest.statusCode, rest.json()]).toEqual([200, { statusCode: 200, data }])
  })

  it('409: refuses to ship more than a shipped part has left', async () => {
    const id = await reservations.begin()
    await reservations.commit(id, { quantity: 3 })
    expect(envelopeOf(await reservations.commit(id, { quantity: 2 }))).toEqual(
      refusedBody(409, 'CONFLICT', 'The reservation has less left than this quantity.', { remaining: 1 }),
    )
    expect(await reservations.stock()).toEqual({ onHand: 7, reserved: 1, available: 6 })
  })

  it('200: ships once for an Idempotency-Key', async () => {
    const id = await reservations.begin()
    const key = { 'idempotency-key': `commit-${id}` }
    const first = await reservations.commit(id, { quantity: 2 }, key)
    const again = await reservations.commit(id, { quantity: 2 }, key)
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    expect((await reservations.stock()).onHand).toBe(8)
  })

  it('422: refuses the Idempotency-Key of another reservation, which stays as it is', async () => {
    const key = { 'idempotency-key': `other-${product.productId}` }
    await reservations.commit(await reservations.begin({ quantity: 3 }), { quantity: 2 }, key)
    const response = await reservations.commit(await reservations.begin({ quantity: 3 }), { quantity: 2 }, key)
    expect(envelopeOf(response)).toEqual(
      refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.'),
    )
    expect(await reservations.stock()).toEqual({ onHand: 8, reserved: 4, available: 4 })
  })

  it('200: one of 50 parallel requests commits, and 49 get 409', async () => {
    const id = await reservations.begin()
    const answers = await Promise.all(Array.from({ length: 50 }, () => reservations.commit(id)))
    const refused = answers.filter(({ statusCode }) => statusCode !== 200).map((answer) => answer.json())
    expect(refused).toEqual(Array(49).fill(over('The reservation is committed.')))
    expect(await reservations.stock()).toEqual({ onHand: 6, reserved: 0, available: 6 })
  })

  it('404: refuses an unknown id', async () => {
    const response = await reservations.commit(ABSENT)
    expect([response.statusCode, response.json()]).toEqual([404, absent])
  })

  it.each<[string, object, string, string]>([
    ['abc', {}, 'reservationId', 'must be a whole number'],
    ['0', {}, 'reservationId', 'must be at least 1'],
    ['1', { quantity: 0 }, 'quantity', 'must be at least 1'],
    ['1', { all: true }, 'all', 'is not known here'],
  ])('400: refuses %s with %j', async (id, body, path, message) => {
    const response = await requests.send('POST', `/reservations/commit/${id}`, body)
    expect(envelopeOf(response)).toEqual(invalidBody(path, message))
  })

  // ASVS 3.5.3
  it('405: refuses GET', async () => {
    const response = await requests.get('/reservations/commit/1')
    const refused = refusedBody(405, 'NOT_ALLOWED', 'The method is not allowed here.')
    expect([envelopeOf(response), response.headers.allow]).toEqual([refused, 'POST, OPTIONS'])
  })
})
