import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestLine } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'
import { stockRequests } from './stock-requests.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

const SECRET = 'do-not-log-this'

/** The log lines of the request with this id. */
async function linesOf(requestId: string): Promise<Record<string, unknown>[]> {
  return (await inventory.logLines()).filter((line) => line.request_id === requestId)
}

describe('logs/app.log', () => {
  it('has one line for each request', async () => {
    await inventory.app.inject({ url: '/users/1?', headers: { 'x-request-id': 'one-line' } })
    expect(await linesOf('one-line')).toEqual([
      {
        level: 'info',
        time: anyTime,
        request_id: 'one-line',
        method: 'GET',
        path: '/users/1',
        route: '/users/{user_id}',
        status: 200,
        duration_ms: expect.any(Number),
        bytes: 96,
        msg: 'request',
      },
    ])
  })

  it.each(['/', '/docs', '/docs/', '/docs/js/scalar.js', '/openapi.json'])(
    'has no error for %s, whichever way a client asks',
    async (url) => {
      const id = `document${url.replaceAll('/', '-')}`
      const headers = { 'x-request-id': id, accept: 'text/html,*/*;q=0.8' }
      const { headers: answered } = await inventory.app.inject({ url, headers })
      await inventory.app.inject({ url, headers: { 'x-request-id': id } })
      await inventory.app.inject({ method: 'HEAD', url, headers })
      await inventory.app.inject({ url, headers: { ...headers, 'if-none-match': answered.etag ?? '"none"' } })
      const lines = await linesOf(id)
      expect(lines.map(({ level, msg }) => [level, msg])).toEqual(Array.from({ length: 4 }, () => ['info', 'request']))
    },
  )

  it('names the id of the created product', async () => {
    const response = await inventory.app.inject({
      method: 'POST',
      url: '/products',
      headers: { 'x-request-id': 'created' },
      payload: { sku: 'logged', attributes: '{}' },
    })
    expect(await linesOf('created')).toEqual([
      requestLine({
        request_id: 'created',
        method: 'POST',
        path: '/products',
        route: '/products',
        status: 201,
        event: 'product.created',
        product_id: response.json().data.id,
      }),
    ])
  })

  it('names what happened to stock', async () => {
    const { addProduct, send, move, reserve } = stockRequests(inventory)
    const unit = { productId: await addProduct(), locationId: 1, quantity: 1 }
    const ask = async (method: 'POST' | 'DELETE', url: string, body?: object) => {
      const response = await send(method, url, body, { 'x-request-id': 'stock', 'idempotency-key': `${method}${url}` })
      return response.body === '' ? 0 : response.json().data.id
    }
    const movementId = await ask('POST', '/movements', { type: 'receive', ...unit })
    const reservationId = await ask('POST', '/reservations', unit)
    await ask('POST', '/reservations', unit)
    await ask('POST', `/reservations/commit/${reservationId}`)
    await move({ type: 'receive', ...unit })
    const releasedId = (await reserve(unit)).json().data.id
    for (const _ of [1, 2]) await ask('DELETE', `/reservations/${releasedId}`)
    const events = (await linesOf('stock')).map(({ event, movement_ids, reservation_id }) => ({
      ...{ event, movement_ids, reservation_id },
    }))
    expect(events).toEqual([
      { event: 'stock.moved', movement_ids: [movementId] },
      { event: 'reservation.created', reservation_id: reservationId },
      // A repeat has no effect, so its line names no event.
      { event: undefined },
      { event: 'reservation.committed', reservation_id: reservationId },
      { event: 'reservation.released', reservation_id: releasedId },
      // The second release changes nothing, so its line names no event.
      { event: undefined },
    ])
  })

  // ASVS 14.2.4, 16.2.5
  it('never shows headers that hold secrets, bodies, attributes or query values', async () => {
    const headers = { authorization: `Bearer ${SECRET}`, 'idempotency-key': SECRET, cookie: SECRET }
    const payloads = [{ sku: SECRET, attributes: JSON.stringify({ a: SECRET }) }, { sku: SECRET }, { [SECRET]: 1 }]
    for (const payload of payloads) await inventory.app.inject({ method: 'POST', url: '/products', headers, payload })
    await inventory.app.inject({ url: `/products?q=${SECRET}`, headers })
    await inventory.app.inject({ method: 'POST', url: '/products', headers, payload: SECRET })
    expect(JSON.stringify(await inventory.logLines())).not.toContain(SECRET)
  })

  // ASVS 16.4.1
  it('cannot hold a forged line', async () => {
    const before = (await inventory.logLines()).length
    await inventory.app.inject({ url: '/users/%0d%0a{"level":"info"}' })
    await inventory.app.inject({ url: '/nope"}\n{"msg":"forged"}' })
    const added = (await inventory.logLines()).slice(before)
    expect(added.map(({ msg }) => msg)).toEqual(['request', 'request'])
  })

  it('describes a fault by the same text whatever its id', async () => {
    await inventory.query('ALTER TABLE inventory.users RENAME COLUMN username TO renamed')
    await inventory.app.inject({ url: '/users/5', headers: { 'x-request-id': 'about-an-id' } })
    await inventory.query('ALTER TABLE inventory.users RENAME COLUMN renamed TO username')
    const messages = (await linesOf('about-an-id')).map(({ msg }) => msg)
    expect(messages).toEqual(['An internal error has occurred while processing your request.', 'request'])
  })

  // ASVS 16.3.4, 16.5.1
  it('has the cause of a 500, which the client does not get', async () => {
    await inventory.query('ALTER TABLE inventory.users RENAME COLUMN username TO renamed')
    const response = await inventory.app.inject({ url: '/users', headers: { 'x-request-id': 'defect' } })
    await inventory.query('ALTER TABLE inventory.users RENAME COLUMN renamed TO username')
    expect(response.json()).toEqual({
      statusCode: 500,
      error: { type: 'SERVER_ERROR', description: expect.any(String) },
    })
    expect(response.json().error.description).toBe('An internal error has occurred while processing your request.')
    const [{ err, ...cause } = {}, ...lines] = await linesOf('defect')
    expect(err).toHaveProperty('stack', expect.stringContaining('username'))
    expect(cause).toEqual({
      level: 'error',
      time: anyTime,
      request_id: 'defect',
      error_code: 'SERVER_ERROR',
      msg: 'An internal error has occurred while processing your request.',
    })
    expect(lines).toEqual([
      requestLine({
        level: 'error',
        request_id: 'defect',
        method: 'GET',
        path: '/users',
        route: '/users',
        status: 500,
        error_code: 'SERVER_ERROR',
      }),
    ])
  })
})
