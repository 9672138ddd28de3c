import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'

const SHOP = 'https://shop.example'
let inventory: TestInventory
let shut: TestReplica
let wide: TestReplica
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_CORS_ORIGINS: `${SHOP}, http://localhost:3000` })
  shut = await startReplica(inventory.databaseUrl)
  wide = await startReplica(inventory.databaseUrl, { INVENTORY_CORS_ORIGINS: '*' })
})
afterAll(async () => {
  await Promise.all([shut?.close(), wide?.close()])
  await inventory.close()
})

const corsOf = (headers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
const preflight = (origin: string, url = '/products') => ({
  ...({ method: 'OPTIONS', url } as const),
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  },
})
const readable = {
  'access-control-allow-origin': SHOP,
  'access-control-expose-headers':
    'ETag, Link, Location, Content-Disposition, X-Total-Count, X-Request-Id, Idempotent-Replayed, Retry-After, WWW-Authenticate',
}

describe('a page of another origin', () => {
  it.each(['/users', '/users/99', '/nope', '/products?limit=0'])('may read the answer to GET %s', async (url) => {
    const { headers } = await inventory.app.inject({ url, headers: { origin: SHOP } })
    expect(corsOf(headers)).toEqual(readable)
    expect(headers.vary).toContain('Origin')
  })

  it('204: gets the answer to a preflight', async () => {
    const response = await inventory.app.inject(preflight(SHOP))
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect(corsOf(response.headers)).toEqual({
      ...readable,
      'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
      'access-control-allow-headers': 'authorization,content-type,idempotency-key',
      'access-control-max-age': '3600',
    })
  })

  // ASVS 3.4.2
  it('403: is refused when its origin is not listed', async () => {
    const response = await inventory.app.inject({ url: '/users', headers: { origin: 'https://evil.example' } })
    expect([response.statusCode, corsOf(response.headers)]).toEqual([200, {}])
    const refused = await inventory.app.inject(preflight('https://evil.example'))
    expect(refused.json()).toEqual({
      statusCode: 403,
      error: { type: 'INSUFFICIENT_PRIVILEGES', description: 'This origin is not allowed.' },
    })
    expect(corsOf(refused.headers)).toEqual({})
  })

  // ASVS 3.4.2
  it('gets no CORS header when no origin is listed', async () => {
    const { headers } = await shut.app.inject({ url: '/users', headers: { origin: SHOP } })
    expect(corsOf(headers)).toEqual({})
    const asked = await shut.app.inject(preflight(SHOP))
    expect([asked.statusCode, corsOf(asked.headers)]).toEqual([204, {}])
  })

  it('may call without cookies when all origins may', async () => {
    const { headers } = await wide.app.inject({ url: '/users', headers: { origin: 'https://any.example' } })
    expect(corsOf(headers)).toEqual({ ...readable, 'access-control-allow-origin': '*' })
  })
})
