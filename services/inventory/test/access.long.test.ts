import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { holdBodies } from '@trestle/testing/hold-bodies.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'
import { type AuthService, runAuthService } from './run-auth-service.ts'

const ISSUER = 'http://auth.example'
const SECRET = 'a secret of at least 32 bytes, for tests'
const KID = 'test-key'
/** As many bodies of unknown size as one client may have. */
const SHARE = 2
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })

let database: TemporaryDatabase
let auth: AuthService
let inventory: TestInventory
beforeAll(async () => {
  database = await createEmptyDatabase()
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: KID, alg: 'ES256', key_ops: ['sign'] }
  auth = await runAuthService(database.url, {
    AUTH_API_EXTERNAL_URL: ISSUER,
    AUTH_JWT_SECRET: SECRET,
    AUTH_JWT_KEYS: JSON.stringify([jwk]),
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  })
  inventory = await startInventory({
    INVENTORY_AUTH_ENABLED: 'true',
    INVENTORY_AUTH_JWKS_URL: `${auth.url}/.well-known/jwks.json`,
    INVENTORY_AUTH_ISSUER: ISSUER,
    INVENTORY_AUTH_AUDIENCE: 'authenticated',
    INVENTORY_AUTH_ADMIN_ROLES: 'service_role',
    INVENTORY_AUTH_ROLE_SCOPES: 'authenticated=inventory:read',
  })
})
afterAll(async () => {
  await inventory?.close()
  await auth?.stop()
  await database?.drop()
})

type Claims = Readonly<Record<string, unknown>>

async function askAuth(path: string, body: object): Promise<string> {
  const response = await fetch(auth.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer: unknown = await response.json()
  if (typeof answer === 'object' && answer && 'access_token' in answer) return String(answer.access_token)
  throw new Error(`no token: ${JSON.stringify(answer)}`)
}

const CLERK = { email: 'clerk@example.com', password: 'correct horse battery' }

const send = (token: string | undefined, method: 'GET' | 'POST' | 'HEAD', url = '/products') =>
  inventory.app.inject({
    method,
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(method === 'POST' ? { payload: { sku: randomUUID(), attributes: '{}' } } : {}),
  })
/** The status of success, or the whole refusal, of a read of products, then of a creation. */
const outcomesOf = async (token: string | undefined) => {
  const answers = [await send(token, 'GET'), await send(token, 'POST')]
  return answers.map((answer) => (answer.statusCode < 300 ? answer.statusCode : answer.json()))
}
const scopeMissing = (scope: string) =>
  refusedBody(403, 'INSUFFICIENT_PRIVILEGES', `The access token lacks the scope ${scope}.`)
const READ_REFUSED = scopeMissing('inventory:read')
const WRITE_REFUSED = scopeMissing('inventory:write')
const UNAUTHORIZED = refusedBody(401, 'UNAUTHENTICATED', 'The access token is not valid.')

describe('tokens of the authentication service', () => {
  // ASVS 8.2.1
  it('get scopes from the role and from app_metadata', async () => {
    const token = await askAuth('/signup', CLERK)
    expect(await outcomesOf(token)).toEqual([200, WRITE_REFUSED])
    await execute(`UPDATE auth.users SET raw_app_meta_data = raw_app_meta_data || '{"scopes":["inventory:write"]}'
      WHERE email = 'clerk@example.com'`)
    const clerk = await askAuth('/token?grant_type=password', CLERK)
    expect(await outcomesOf(clerk)).toEqual([200, 201])
    expect((await send(clerk, 'HEAD')).statusCode).toBe(200)
  })

  // ASVS 8.2.1
  it('get no scope when the user is anonymous', async () => {
    expect(await outcomesOf(await askAuth('/signup', {}))).toEqual([READ_REFUSED, WRITE_REFUSED])
  })

  it('are named as actor in the ledger', async () => {
    const token = sealed({ scope: 'inventory:read inventory:write' })
    const { id } = (await send(token, 'POST')).json().data
    const headers = { authorization: `Bearer ${token}` }
    const payload = { type: 'receive', productId: id, locationId: 1, quantity: 1 }
    const moved = await inventory.app.inject({ method: 'POST', url: '/movements', headers, payload })
    expect(moved.statusCode).toBe(201)
    const { type: _, ...unit } = payload
    const reserved = await inventory.app.inject({ method: 'POST', url: '/reservations', headers, payload: unit })
    const url = `/reservations/${reserved.json().data.id}`
    expect((await inventory.app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(204)
    const ledger = 'SELECT type, actor FROM inventory.movements WHERE product_id = $1 ORDER BY id'
    const types = ['receive', 'reserve', 'release']
    expect(await inventory.query(ledger, [id])).toEqual(types.map((type) => ({ type, actor: 'user-1' })))
  })
})

describe('large bodies of users at one address', () => {
  const headersOf = (sub: string) => ({ authorization: `Bearer ${sealed({ sub, scope: 'inventory:write' })}` })
  let url: string
  beforeAll(async () => {
    url = await inventory.app.listen({ host: '127.0.0.1', port: 0 })
  })

  const create = (headers: Readonly<Record<string, string>>) =>
    fetch(`${url}/products`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ sku: randomUUID(), attributes: '{}' }) + ' '.repeat(50_000),
    })

  it('201: are read while slow bodies of another user hold their share', async () => {
    const slow = { method: 'POST', path: '/products', headers: headersOf('slow') } as const
    await using held = await holdBodies(url, SHARE, slow)
    expect((await create(headersOf('other'))).status).toBe(201)
    expect(held.countAnswered()).toBe(0)
  })

  it('401: are not kept while bodies without a token come slowly, which are refused at once', async () => {
    await using held = await holdBodies(url, SHARE, { method: 'POST', path: '/products', headers: {} })
    expect((await create(headersOf('other'))).status).toBe(201)
    await expect.poll(held.countAnswered).toBe(SHARE)
  })
})

// ASVS 16.3.1, 16.3.2, 16.3.3
it('the log line names the actor and the error of a refused request', async () => {
  const headers = { authorization: `Bearer ${sealed({ scope: 'inventory:read' })}`, 'x-request-id': 'known-caller' }
  await inventory.app.inject({ url: '/users/1', headers })
  await inventory.app.inject({ method: 'POST', url: '/products', headers, payload: {} })
  await inventory.app.inject({ url: '/users/1', headers: { 'x-request-id': 'known-caller' } })
  const lines = (await inventory.logLines()).filter(({ request_id }) => request_id === 'known-caller')
  expect(lines.map(({ status, actor }) => [status, actor])).toEqual([
    [200, 'user-1'],
    [403, 'user-1'],
    [401, undefined],
  ])
})

const UNAUTHENTICATED = refusedBody(401, 'UNAUTHENTICATED', 'An access token is required.')

describe('a request without a valid token', () => {
  it('401: says in the envelope and in WWW-Authenticate that there is none', async () => {
    const missing = await send(undefined, 'GET')
    expect(missing.json()).toEqual({
      statusCode: 401,
      error: { type: 'UNAUTHENTICATED', description: 'An access token is required.' },
    })
    expect(missing.headers['www-authenticate']).toBe('Bearer realm="inventory"')
  })

  it('401: says in the envelope and in WWW-Authenticate that it is not valid', async () => {
    const wrong = await send('x.y.z', 'GET')
    expect(wrong.json()).toEqual({
      statusCode: 401,
      error: { type: 'UNAUTHENTICATED', description: 'The access token is not valid.' },
    })
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="inventory", error="invalid_token"')
  })

  it('403: says in the envelope and in WWW-Authenticate which scope is missing', async () => {
    const weak = await send(sealed({ scope: 'inventory:read' }), 'POST')
    expect(weak.json()).toEqual({
      statusCode: 403,
      error: { type: 'INSUFFICIENT_PRIVILEGES', description: 'The access token lacks the scope inventory:write.' },
    })
    expect(weak.headers['www-authenticate']).toContain('error="insufficient_scope", scope="inventory:write"')
  })

  it('401: reads nothing and looks nothing up, whatever the body and the id are', async () => {
    const broken = {
      method: 'POST',
      url: '/products',
      headers: { 'content-type': 'text/plain' },
      payload: '{',
    } as const
    expect((await inventory.app.inject(broken)).json()).toEqual(UNAUTHENTICATED)
    for (const url of ['/products/abc', '/products/999999', '/users', '/products/export', '/stock']) {
      expect((await send(undefined, 'GET', url)).json(), url).toEqual(UNAUTHENTICATED)
    }
  })

  it.each(['/', '/health', '/ready', '/openapi.json', '/docs/'])('200: %s stays open', async (url) => {
    const [answer, known] = [
      await send(undefined, 'GET', url),
      await send(sealed({ scope: 'inventory:read' }), 'GET', url),
    ]
    expect([answer.statusCode, answer.body]).toEqual([200, known.body])
  })

  it('200: says in /openapi.json that operations need a token', async () => {
    const { body } = await send(undefined, 'GET', '/openapi.json')
    expect(JSON.parse(body).paths['/products'].get.security).toEqual([{ token: [] }])
  })
})

const encode = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
type Signer = (data: string) => Buffer

const ES256 = { alg: 'ES256', kid: KID, typ: 'JWT' } as const
const signBy = (key: KeyObject, dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363'): Signer => {
  return (data) => sign('sha256', Buffer.from(data), { key, dsaEncoding })
}
const hmac =
  (key: string | Buffer, digest = 'sha256'): Signer =>
  (data) =>
    createHmac(digest, key).update(data).digest()
const nothing: Signer = () => Buffer.alloc(0)

const now = () => Math.floor(Date.now() / 1_000)
const good = (): Claims => ({
  iss: ISSUER,
  aud: 'authenticated',
  sub: 'user-1',
  exp: now() + 600,
  role: 'service_role',
})

function token(header: object | string, claims: object | string, signer: Signer): string {
  const data = `${encode(header)}.${encode(claims)}`
  return `${data}.${signer(data).toString('base64url')}`
}

/** As the authentication service would sign it. */
function sealed(changes: Claims): string {
  return token(ES256, { ...good(), role: 'authenticated', ...changes }, signBy(privateKey))
}

const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
const pem = createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString()
const jwkText = JSON.stringify(publicKey.export({ format: 'jwk' }))
const strangeJwk = stranger.publicKey.export({ format: 'jwk' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
const ed25519 = generateKeyPairSync('ed25519').privateKey
const zeros: Signer = () => Buffer.alloc(64)

// ASVS 8.3.1, 9.1.1, 9.1.2, 9.1.3, 9.2.1, 9.2.3
describe('a forged token', () => {
  it('is refused, while the token that it imitates is accepted', async () => {
    expect(await outcomesOf(token(ES256, good(), signBy(privateKey)))).toEqual([200, 201])
    expect(await outcomesOf(sealed({ exp: now() - 20, scope: 'inventory:read' }))).toEqual([200, WRITE_REFUSED])
  })

  it.each<[string, () => string]>([
    ['no algorithm', () => token({ alg: 'none' }, good(), nothing)],
    ['no algorithm, otherwise written', () => token({ alg: 'nOnE' }, good(), nothing)],
    ['no algorithm but a kid', () => token({ ...ES256, alg: 'none' }, good(), nothing)],
    ['an empty signature', () => token(ES256, good(), nothing)],
    ['no signature part', () => token(ES256, good(), nothing).slice(0, -1)],
    ['the public key as a secret, PEM', () => token({ ...ES256, alg: 'HS256' }, good(), hmac(pem))],
    ['the public key as a secret, DER', () => token({ ...ES256, alg: 'HS256' }, good(), hmac(spki))],
    ['the public key as a secret, JWK', () => token({ ...ES256, alg: 'HS256' }, good(), hmac(jwkText))],
    ['an empty secret', () => token({ ...ES256, alg: 'HS256' }, good(), hmac(''))],
    ['the secret of the service', () => token({ alg: 'HS256' }, good(), hmac(SECRET))],
    ['the secret of the service, with the kid', () => token({ ...ES256, alg: 'HS256' }, good(), hmac(SECRET))],
    ['HS384', () => token({ alg: 'HS384' }, good(), hmac(SECRET, 'sha384'))],
    ['HS512', () => token({ alg: 'HS512' }, good(), hmac(SECRET, 'sha512'))],
    ['another key under the kid', () => token(ES256, good(), signBy(stranger.privateKey))],
    ['another key under another kid', () => token({ ...ES256, kid: 'x' }, good(), signBy(stranger.privateKey))],
    ['another key under no kid', () => token({ alg: 'ES256' }, good(), signBy(stranger.privateKey))],
    ['a key that it brings', () => token({ ...ES256, jwk: strangeJwk }, good(), signBy(stranger.privateKey))],
    ['keys elsewhere', () => token({ ...ES256, jku: 'http://127.0.0.1:1/' }, good(), signBy(stranger.privateKey))],
    [
      'a certificate elsewhere',
      () => token({ ...ES256, x5u: 'http://127.0.0.1:1/' }, good(), signBy(stranger.privateKey)),
    ],
    ['a path as kid', () => token({ ...ES256, kid: '../../dev/null' }, good(), hmac(''))],
    ['an RSA key', () => token({ ...ES256, alg: 'RS256' }, good(), (data) => sign('sha256', Buffer.from(data), rsa))],
    [
      'an Ed25519 key',
      () => token({ ...ES256, alg: 'EdDSA' }, good(), (data) => sign(null, Buffer.from(data), ed25519)),
    ],
    ['a signature in DER', () => token(ES256, good(), signBy(privateKey, 'der'))],
    ['a signature of zeros', () => token(ES256, good(), zeros)],
    ['an extension that is critical', () => token({ ...ES256, crit: ['x'], x: 1 }, good(), signBy(privateKey))],
    ['another issuer', () => sealed({ iss: 'http://other.example', role: 'service_role' })],
    ['no issuer', () => sealed({ iss: undefined, role: 'service_role' })],
    ['another audience', () => sealed({ aud: 'other', role: 'service_role' })],
    ['no audience', () => sealed({ aud: undefined, role: 'service_role' })],
    ['no end', () => sealed({ exp: undefined, role: 'service_role' })],
    ['an end that is over', () => sealed({ exp: now() - 60, role: 'service_role' })],
    ['an end that is a text', () => sealed({ exp: String(now() + 600), role: 'service_role' })],
    ['a beginning to come', () => sealed({ nbf: now() + 60, role: 'service_role' })],
    ['no subject', () => sealed({ sub: undefined, role: 'service_role' })],
    [
      'claims of its own under a good signature',
      () => {
        const [header, , signature] = sealed({}).split('.')
        return `${header}.${encode(good())}.${signature}`
      },
    ],
    [
      'a header of its own under a good signature',
      () => {
        const [, claims, signature] = sealed({ role: 'service_role' }).split('.')
        return `${encode({ ...ES256, typ: 'at+jwt' })}.${claims}.${signature}`
      },
    ],
    ['claims that are no object', () => token(ES256, '[]', signBy(privateKey))],
  ])('401: refuses a token with %s', async (_name, forge) => {
    expect(await outcomesOf(forge())).toEqual([UNAUTHORIZED, UNAUTHORIZED])
  })

  it('is never written into the log', async () => {
    const forged = token(ES256, good(), signBy(stranger.privateKey))
    await send(forged, 'GET')
    expect(JSON.stringify(await inventory.logLines())).not.toContain(forged.split('.')[2])
  })
})

async function execute(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(text)
  await client.end()
}
