import { operatorHeaders, testOperators } from '../operators.ts'
import { type Answer, type ErrorCase, type ErrorCases, json, send, unique, type World } from './error-case.ts'

const NO_ID = 999_999

async function createProduct(world: World, sku = unique()): Promise<number> {
  const { body } = await send(await world.service(), json('POST', '/products', { sku, attributes: '{}' }))
  return JSON.parse(body).data.id
}

async function createLocation(world: World, code = unique()): Promise<number> {
  const { body } = await send(await world.service(), json('POST', '/locations', { code, name: 'A shelf' }))
  return JSON.parse(body).data.id
}

/** A GET or DELETE of a record that does not exist. */
function absent(operation: string, url: string): ErrorCase {
  const method = operation.startsWith('delete') ? 'DELETE' : 'GET'
  return { operation, raise: async (world) => send(await world.service(), { method, url }) }
}

const STALE = { 'if-match': '"p0-9"' }
const STRICT = { INVENTORY_REQUIRE_IF_MATCH: 'true' }

const changes = {
  'put /products/{productId}': (url: string, sku: string, headers = {}) =>
    json('PUT', url, { sku, attributes: '{}' }, headers),
  'patch /products/{productId}': (url: string, sku: string, headers = {}) => json('PATCH', url, { sku }, headers),
  'delete /products/{productId}': (url: string, _sku: string, headers = {}) => ({
    method: 'DELETE' as const,
    url,
    headers,
  }),
} as const
const changesOf = (raise: (world: World, change: (typeof changes)[keyof typeof changes]) => Promise<Answer>) =>
  Object.entries(changes).map(
    ([operation, change]): ErrorCase => ({ operation, raise: (world) => raise(world, change) }),
  )

const locationChanges = {
  'patch /locations/{locationId}': (url: string, headers = {}) => json('PATCH', url, { name: 'Another' }, headers),
  'delete /locations/{locationId}': (url: string, headers = {}) => ({ method: 'DELETE' as const, url, headers }),
} as const
const locationChangesOf = (
  raise: (world: World, change: (typeof locationChanges)[keyof typeof locationChanges]) => Promise<Answer>,
) =>
  Object.entries(locationChanges).map(
    ([operation, change]): ErrorCase => ({ operation, raise: (world) => raise(world, change) }),
  )

/** An operation that is refused, because its key was used for another request. */
const mismatched = (operation: string, url: string, make: () => object): ErrorCase => ({
  operation,
  raise: async (world) => {
    const service = await world.service()
    const key = { 'idempotency-key': unique() }
    await send(service, json('POST', url, make(), key))
    return send(service, json('POST', url, make(), key))
  },
})

/** Errors about the record of a request: it does not exist, has another version, or its state forbids the request. */
export const recordErrors: ErrorCases = {
  userNotFound: [absent('get /users/{userId}', `/users/${NO_ID}`)],
  productNotFound: [
    absent('get /products/{productId}', `/products/${NO_ID}`),
    absent('get /stock/{productId}', `/stock/${NO_ID}`),
    absent('get /stock/{productId}/{locationId}', `/stock/${NO_ID}/1`),
    ...changesOf(async (world, change) => send(await world.service(), change(`/products/${NO_ID}`, unique()))),
  ],
  locationNotFound: [
    absent('get /locations/{locationId}', `/locations/${NO_ID}`),
    {
      operation: 'get /stock/{productId}/{locationId}',
      raise: async (world) => send(await world.service(), { url: `/stock/${await createProduct(world)}/${NO_ID}` }),
    },
    ...locationChangesOf(async (world, change) => send(await world.service(), change(`/locations/${NO_ID}`))),
  ],
  importNotFound: [
    {
      operation: 'get /operator/imports/{importId}',
      raise: async (world) =>
        send(await world.service({}, { operators: testOperators }), {
          url: `/operator/imports/${NO_ID}`,
          headers: operatorHeaders('viewer'),
        }),
    },
  ],
  movementNotFound: [absent('get /movements/{movementId}', `/movements/${NO_ID}`)],
  duplicateSku: [
    {
      operation: 'post /products',
      raise: async (world) => {
        const sku = unique()
        await createProduct(world, sku)
        return send(await world.service(), json('POST', '/products', { sku, attributes: '{}' }))
      },
    },
    ...changesOf(async (world, change) => {
      const sku = unique()
      await createProduct(world, sku)
      return send(await world.service(), change(`/products/${await createProduct(world)}`, sku))
    }).slice(0, 2),
  ],
  productInStock: [
    {
      operation: 'delete /products/{productId}',
      raise: async (world) => {
        const productId = await createProduct(world)
        const { move } = await world.stock()
        await move({ type: 'receive', productId, locationId: 1, quantity: 1 })
        return send(await world.service(), { method: 'DELETE', url: `/products/${productId}` })
      },
    },
  ],
  duplicateCode: [
    {
      operation: 'post /locations',
      raise: async (world) =>
        send(await world.service(), json('POST', '/locations', { code: 'MAIN', name: 'A shelf' })),
    },
    {
      operation: 'patch /locations/{locationId}',
      raise: async (world) =>
        send(await world.service(), json('PATCH', `/locations/${await createLocation(world)}`, { code: 'MAIN' })),
    },
  ],
  locationHasStock: [
    {
      operation: 'delete /locations/{locationId}',
      raise: async (world) => {
        const locationId = await createLocation(world)
        const { move } = await world.stock()
        await move({ type: 'receive', productId: await createProduct(world), locationId, quantity: 1 })
        return send(await world.service(), { method: 'DELETE', url: `/locations/${locationId}` })
      },
    },
  ],
  productChanged: changesOf(async (world, change) =>
    send(await world.service(), change(`/products/${await createProduct(world)}`, unique(), STALE)),
  ),
  locationChanged: locationChangesOf(async (world, change) =>
    send(await world.service(), change(`/locations/${await createLocation(world)}`, STALE)),
  ),
  preconditionRequired: [
    ...changesOf(async (world, change) => send(await world.service(STRICT), change('/products/1', unique()))),
    ...locationChangesOf(async (world, change) => send(await world.service(STRICT), change('/locations/1'))),
  ],
  keyMismatch: [
    mismatched('post /products', '/products', () => ({ sku: unique(), attributes: '{}' })),
    mismatched('post /locations', '/locations', () => ({ code: unique(), name: 'A shelf' })),
    {
      operation: 'post /operator/imports',
      raise: async (world) => {
        const service = await world.service({}, { operators: testOperators })
        const headers = { ...operatorHeaders('admin'), 'content-type': 'text/csv', 'idempotency-key': unique() }
        const post = { method: 'POST', url: '/operator/imports', headers } as const
        await send(service, { ...post, payload: 'sku,attributes\n' })
        return send(service, { ...post, payload: `sku,attributes\n${unique()},{}\n` })
      },
    },
  ],
  notAcceptable: [
    {
      operation: 'get /products/export',
      raise: async (world) =>
        send(await world.service(), { url: '/products/export', headers: { accept: 'image/png' } }),
    },
  ],
}
