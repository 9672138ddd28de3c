import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { freePort } from '@trestle/testing/free-port.ts'
import fc from 'fast-check'
import type { Target } from '../target.ts'
import { known } from '../valid-value.ts'
import { operatorSecrets, tokenOperators, trustOperators } from './operators.ts'

const ISSUER = 'http://auth.fuzz.example'
const AUDIENCE = 'authenticated'
const ACTORS = 3
/** The actor that calls public routes as an operator. */
const OPERATING = ACTORS
const HOUR_S = 3_600

const id = (pool: string) => known(pool, 1)
const quantity = fc.integer({ min: 1, max: 20 })
const sku = fc.oneof(
  fc.nat(100_000).map((number) => `SKU-${number}`),
  known('sku', 'SKU-1'),
)
const attributes = fc.record({
  color: fc.constantFrom('red', 'blue'),
  price: fc.nat(100),
  tags: fc.array(fc.constantFrom('new', 'old')),
  dim: fc.record({ w: fc.nat(9) }),
})

const file = fc.oneof(
  fc
    .array(sku)
    .map((skus) =>
      ['sku,attributes', ...skus.map((each) => `${JSON.stringify(each)},"{""color"":""red""}"`)].join('\n'),
    ),
  fc
    .array(attributes)
    .map((rows) => ['sku,attributes.color', ...rows.map(({ color, price }) => `CSV-${price},${color}`)].join('\r\n')),
  fc.string({ unit: 'binary' }),
)

/**
 * Products, stock and reservations. Requests carry operator credentials, or access tokens of a sign-in service that only
 * publishes its keys.
 */
export const inventoryTarget: Target = {
  service: 'inventory',
  actors: ACTORS + 1,
  pools: new Set([
    'productId',
    'locationId',
    'movementId',
    'reservationId',
    'userId',
    'importId',
    'sku',
    'cursor',
    'etag',
    'code',
  ]),
  tokens: [],
  lexicon: {
    productId: id('productId'),
    locationId: id('locationId'),
    fromLocationId: id('locationId'),
    toLocationId: id('locationId'),
    movementId: id('movementId'),
    reservationId: id('reservationId'),
    importId: id('importId'),
    userId: fc.integer({ min: 1, max: 5 }),
    cursor: known('cursor', ''),
    limit: fc.integer({ min: 1, max: 20 }),
    quantity,
    delta: fc.integer({ min: -5, max: 5 }),
    expectedOnHand: quantity,
    sku,
    'sku[in]': fc.array(fc.nat(100)).map((numbers) => numbers.map((number) => `SKU-${number}`).join(',')),
    'sku[prefix]': fc.constantFrom('S', 'SKU-1', '%', '_'),
    attributes: fc.oneof(
      attributes,
      attributes.map((value) => JSON.stringify(value)),
      fc.jsonValue({ maxDepth: 2 }),
    ),
    contains: attributes.map((value) => JSON.stringify({ tags: value.tags })),
    q: fc.constantFrom('red', 'blue sk', 'new', "o'x & !", '"'),
    flatten: fc.constantFrom('color', 'dim.w', 'color,dim.w', '"a.b"'),
  },
  bodies: {
    'POST /movements': fc.oneof(
      fc.record({
        type: fc.constantFrom('receive', 'ship', 'count'),
        productId: id('productId'),
        locationId: id('locationId'),
        quantity,
      }),
      fc.record({
        type: fc.constant('adjust'),
        productId: id('productId'),
        locationId: id('locationId'),
        delta: fc.integer({ min: -3, max: 3 }),
      }),
      fc.record({
        type: fc.constant('transfer'),
        productId: id('productId'),
        fromLocationId: id('locationId'),
        toLocationId: id('locationId'),
        quantity,
      }),
    ),
    'POST /products/import': file,
    'POST /operator/imports': file,
  },
  headers: {
    'if-match': known('etag', '"1"'),
    'if-none-match': known('etag', '"1"'),
    'idempotency-key': fc.nat(500).map((number) => `key-${number}`),
    accept: fc.constantFrom('application/json', 'application/x-ndjson', 'text/csv', 'text/html', '*/*'),
    origin: fc.constant('https://shop.example'),
  },
  credentialOf: ({ path }) => (path.startsWith('/operator/') ? 'operator' : 'own'),
  errorsOf: 'GET /products',
  pages: /^\/(ready|docs|openapi\.json)(\/|$)/,
  normalPath: (path) => path.replaceAll(/\/{2,}/g, '/'),
  raw: { get: '/products', post: '/products' },
  surround: async (stack) => {
    const { jwksUrl, token } = await startIssuer(stack)
    const env = {
      INVENTORY_AUTH_ENABLED: 'true',
      INVENTORY_AUTH_JWKS_URL: jwksUrl,
      INVENTORY_AUTH_ISSUER: ISSUER,
      INVENTORY_AUTH_AUDIENCE: AUDIENCE,
      ...trustOperators('INVENTORY_'),
    }
    return {
      env,
      prepare: async ({ ask, memory, deployment }) => {
        const operators = tokenOperators(deployment.secrets)
        // Changes by operators need an Idempotency-Key.
        const operate = () => ({ ...operators.operator, 'idempotency-key': randomUUID() })
        const tokens = Array.from({ length: ACTORS }, (_, actor) =>
          token(`actor-${actor}`, 'inventory:read inventory:write'),
        )
        let round = 0
        const refresh = async () => {
          round += 1
          for (let actor = 0; actor < ACTORS; actor += 1) {
            const create = async (target: string, body: object) => ask({ actor, method: 'POST', target, body })
            const name = `${round}-${actor}`
            await create('/locations', { code: `L-${name}`, name: `Place ${name}` })
            await create('/products', { sku: `P-${name}`, attributes: { color: 'red' } })
            const [productId, locationId] = ['productId', 'locationId'].map((pool) => memory.pick(actor, pool, 1))
            await create('/movements', { type: 'receive', productId, locationId, quantity: 1_000 })
            await create('/reservations', { productId, locationId, quantity: 5 })
          }
        }
        return {
          authorize: (credential, actor) => {
            if (credential === 'viewer') return operators.viewer
            return credential === 'operator' || actor === OPERATING
              ? operate()
              : { authorization: `Bearer ${tokens[actor % ACTORS]}` }
          },
          refresh,
          secrets: new Map([
            ...tokens.map((each, actor) => [`access token ${actor}`, each] as const),
            ...operatorSecrets(operators),
          ]),
        }
      },
    }
  },
}

/** Publishes a key, and signs access tokens with it like the sign-in service. */
async function startIssuer(stack: AsyncDisposableStack) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'fuzz', alg: 'ES256', use: 'sig' }
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [key] })))
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  stack.defer(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return {
    jwksUrl: `http://127.0.0.1:${port}/jwks.json`,
    token: (sub: string, scope: string) => {
      const nowS = Math.floor(Date.now() / 1_000)
      const claims = { iss: ISSUER, aud: AUDIENCE, sub, scope, iat: nowS, exp: nowS + 24 * HOUR_S }
      const data = `${part({ alg: 'ES256', kid: 'fuzz', typ: 'JWT' })}.${part(claims)}`
      const signature = sign('sha256', Buffer.from(data), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${data}.${signature.toString('base64url')}`
    },
  }
}
