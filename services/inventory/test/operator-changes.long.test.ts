import { randomUUID } from 'node:crypto'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from './bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'
import { actorOf, operatorHeaders, testOperators } from './operators.ts'

let inventory: TestInventory
let console: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  console = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
})
afterAll(async () => {
  await console?.close()
  await inventory?.close()
})

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Sends a request as an operator. Each POST has an Idempotency-Key of its own, unless the headers name one. */
async function send(role: OperatorRole, method: Method, url: string, ...[body, headers]: [object?, object?]) {
  const request: InjectOptions = {
    method,
    url,
    headers: {
      ...operatorHeaders(role),
      'x-trestle-operator-address': '2001:db8::7',
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
      ...headers,
    },
    ...(body && { payload: body }),
  }
  const answer = await console.app.inject(request)
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json(), headers: answer.headers }
}

const ANY_VERSION = { 'if-match': '*' }
const PRODUCT = { sku: 'ANY', attributes: {} }
const MOVEMENT = { productId: 999, locationId: 999 }
const move = (type: string, more: object) => ['POST', '/movements', { type, ...MOVEMENT, ...more }] as const

/** Every main route and what it takes, with its lowest role. Undefined: no operator may. The objects do not exist. */
const ROUTES: readonly (readonly [
  lowest: OperatorRole | undefined,
  method: Method,
  url: string,
  body: object | undefined,
])[] = [
  ['viewer', 'GET', '/products', undefined],
  ['viewer', 'GET', '/products/999', undefined],
  ['viewer', 'GET', '/products/export', undefined],
  ['viewer', 'GET', '/stock', undefined],
  ['viewer', 'GET', '/stock/999', undefined],
  ['viewer', 'GET', '/stock/999/999', undefined],
  ['viewer', 'GET', '/movements', undefined],
  ['viewer', 'GET', '/movements/999', undefined],
  ['viewer', 'GET', '/reservations', undefined],
  ['viewer', 'GET', '/reservations/999', undefined],
  ['viewer', 'GET', '/locations', undefined],
  ['viewer', 'GET', '/locations/999', undefined],
  ['support', ...move('receive', { quantity: 1 })],
  ['support', ...move('count', { quantity: 1 })],
  [
    'support',
    'POST',
    '/movements',
    { type: 'transfer', productId: 999, fromLocationId: 998, toLocationId: 999, quantity: 1 },
  ],
  ['admin', ...move('ship', { quantity: 1 })],
  ['admin', ...move('adjust', { delta: 1, reason: 'broken' })],
  ['support', 'DELETE', '/reservations/999', undefined],
  ['admin', 'POST', '/products', { sku: '', attributes: {} }],
  ['admin', 'PUT', '/products/999', PRODUCT],
  ['admin', 'PATCH', '/products/999', PRODUCT],
  ['admin', 'DELETE', '/products/999', undefined],
  ['admin', 'POST', '/locations', { code: '', name: '' }],
  ['admin', 'PATCH', '/locations/999', { name: 'Shelf' }],
  ['admin', 'DELETE', '/locations/999', undefined],
  [undefined, 'POST', '/products/import', undefined],
  [undefined, 'GET', '/users', undefined],
  [undefined, 'GET', '/users/999', undefined],
  [undefined, 'POST', '/reservations', { ...MOVEMENT, quantity: 1 }],
  [undefined, 'POST', '/reservations/commit/999', {}],
]

/** Whether an answer refuses the role of the operator. */
const isForbidden = async (role: OperatorRole, [, method, url, body]: (typeof ROUTES)[number]) =>
  (await send(role, method, url, body, ANY_VERSION)).body?.error?.type === 'OPERATOR_FORBIDDEN'

const rolesFrom = (lowest: OperatorRole | undefined) =>
  lowest === undefined ? [] : OPERATOR_ROLES.slice(OPERATOR_ROLES.indexOf(lowest))

const audit = async () => (await send('viewer', 'GET', '/operator/audit')).body.data
const newestAudit = async () => (await audit())[0]
const countAudit = async () => (await audit()).length

const entry = (role: OperatorRole, more: object) => ({
  id: expect.any(Number),
  created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
  actor: { id: actorOf(role).id, email: `${role}@example.com` },
  key: `desk-${role}`,
  role,
  address: '2001:db8::7',
  ...more,
})

/** A product and a location that no other test uses. */
async function addPlace() {
  const product = await send('admin', 'POST', '/products', { sku: `SKU-${randomUUID()}`, attributes: {} })
  const location = await send('admin', 'POST', '/locations', { code: `L-${randomUUID().slice(0, 8)}`, name: 'Shelf' })
  return { productId: product.body.data.id, locationId: location.body.data.id }
}

describe('the main routes, called by operators', () => {
  it.each(ROUTES)('let roles from %s on call %s %s %j', async (lowest, method, url, body) => {
    const allowed: OperatorRole[] = []
    for (const role of OPERATOR_ROLES) if (!(await isForbidden(role, [lowest, method, url, body]))) allowed.push(role)
    expect(allowed).toEqual(rolesFrom(lowest))
  })

  it('403: names the action and the role that counts', async () => {
    const { status, body } = await send('viewer', 'DELETE', '/products/999', undefined, ANY_VERSION)
    expect([status, body]).toEqual([
      403,
      {
        statusCode: 403,
        error: {
          type: 'OPERATOR_FORBIDDEN',
          description: 'The role of the operator may not do this.',
          action: 'products.delete',
          role: 'viewer',
        },
      },
    ])
  })

  it('403: of several movements the highest role counts', async () => {
    const { productId, locationId } = await addPlace()
    const lines = [
      { type: 'receive', productId, locationId, quantity: 2 },
      { type: 'ship', productId, locationId, quantity: 1 },
    ]
    const refused = await send('support', 'POST', '/movements', { lines })
    expect([refused.status, refused.body]).toEqual([
      403,
      {
        statusCode: 403,
        error: {
          type: 'OPERATOR_FORBIDDEN',
          description: 'The role of the operator may not do this.',
          action: 'stock.ship',
          role: 'support',
        },
      },
    ])
    expect((await send('admin', 'POST', '/movements', { lines })).status).toBe(201)
  })

  it.each([
    ['a key without a token', { authorization: '' }],
    ['an unknown key', { 'x-trestle-operator-key': 'unknown' }],
    ['the token of a user without a console role', { authorization: 'Bearer nobody' }],
  ])('401: refuses %s, though others need no token', async (_case, headers) => {
    const { status, body } = await send('admin', 'GET', '/products', undefined, headers)
    expect([status, body]).toEqual([
      401,
      refusedBody(
        401,
        'OPERATOR_UNAUTHORIZED',
        'The operator key or the access token is missing, malformed or not good.',
      ),
    ])
  })

  it('409: expires what is due though the movement is refused', async () => {
    const place = await addPlace()
    await send('support', 'POST', '/movements', { type: 'receive', ...place, quantity: 3 })
    const payload = { ...place, quantity: 2 }
    const reserved = await inventory.app.inject({ method: 'POST', url: '/reservations', payload })
    const { id } = reserved.json().data
    await inventory.query('UPDATE inventory.reservations SET expires_at = now() WHERE id = $1', [id])
    const ship = { type: 'ship', ...place, quantity: 4 }
    const { status, body } = await send('admin', 'POST', '/movements', ship)
    expect([status, body.error.available]).toEqual([409, 3])
    const rows = await inventory.query('SELECT status FROM inventory.reservations WHERE id = $1', [id])
    expect(rows).toEqual([{ status: 'expired' }])
  })

  it('200: the header changes nothing where the service has no operator keys', async () => {
    const list = async (headers = {}) => {
      const answer = await inventory.app.inject({ url: '/products', headers })
      return { status: answer.statusCode, body: answer.json() }
    }
    const plain = await list()
    expect(await list(operatorHeaders('viewer'))).toEqual({ ...plain, status: 200 })
  })

  it.each([
    ['/products', PRODUCT],
    ['/locations', { code: 'A', name: 'A' }],
    ['/movements', { type: 'receive', ...MOVEMENT, quantity: 1 }],
  ])('400: POST %s needs an Idempotency-Key', async (url, payload) => {
    const answer = await console.app.inject({ method: 'POST', url, headers: operatorHeaders('admin'), payload })
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      refusedBody(400, 'IDEMPOTENCY_KEY_REQUIRED', 'A change of an operator needs an Idempotency-Key.'),
    ])
  })

  it.each([
    ['PUT', '/products/1', PRODUCT],
    ['PATCH', '/products/1', PRODUCT],
    ['DELETE', '/products/1', undefined],
    ['PATCH', '/locations/1', { name: 'x' }],
    ['DELETE', '/locations/1', undefined],
  ] as const)('428: %s %s needs the header If-Match', async (method, url, payload) => {
    const { status, body } = await send('admin', method, url, payload)
    expect([status, body]).toEqual([
      428,
      refusedBody(428, 'PRECONDITION_REQUIRED', 'This change needs the header If-Match.'),
    ])
  })
})

describe('the audit log', () => {
  it('names who made a product, changed it, and deleted it', async () => {
    const key = randomUUID()
    const made = await send(
      'admin',
      'POST',
      '/products',
      { sku: 'LOG', attributes: '{"n":0.10}' },
      { 'idempotency-key': key },
    )
    const { id } = made.body.data
    expect(await newestAudit()).toEqual(
      entry('admin', {
        action: 'products.change',
        object: { kind: 'product', id },
        idempotencyKey: key,
        changes: { sku: 'LOG', attributes: '{"n":0.10}' },
      }),
    )
    await send('admin', 'PATCH', `/products/${id}`, { sku: 'LOG-2' }, { 'if-match': `"p${id}-1"` })
    expect(await newestAudit()).toEqual(
      entry('admin', {
        action: 'products.change',
        object: { kind: 'product', id },
        idempotencyKey: null,
        changes: { mode: 'merge', sku: 'LOG-2', version: 2 },
      }),
    )
    await send('admin', 'DELETE', `/products/${id}`, undefined, ANY_VERSION)
    expect(await newestAudit()).toEqual(
      entry('admin', { action: 'products.delete', object: { kind: 'product', id }, idempotencyKey: null, changes: {} }),
    )
  })

  it('names who moved stock, and the movement keeps the operator', async () => {
    const { productId, locationId } = await addPlace()
    const key = randomUUID()
    const line = { type: 'receive', productId, locationId, quantity: 3 }
    const moved = await send('support', 'POST', '/movements', line, { 'idempotency-key': key })
    const { id } = moved.body.data
    expect(await newestAudit()).toEqual(
      entry('support', {
        action: 'stock.receive',
        object: { kind: 'movement', id },
        idempotencyKey: key,
        changes: { ids: [id], lines: [line] },
      }),
    )
    const { body } = await send('viewer', 'GET', `/movements/${id}`)
    expect(body.data.actor).toBe(actorOf('support').id)
  })

  // A page of entries must not carry megabytes.
  it.each([
    ['an object', (attributes: object) => attributes],
    ['a text', (attributes: object) => JSON.stringify(attributes)],
  ])('names the members of long attributes that are sent as %s, and keeps their length', async (_form, toSent) => {
    const long = { [`${'n'.repeat(120)}`]: 1, filler: 'x'.repeat(4_096), price: 0.1 }
    const names = ['n'.repeat(100), 'filler', 'price']
    const bytes = Buffer.byteLength(JSON.stringify(long))
    const sku = `LONG-${randomUUID()}`
    const made = await send('admin', 'POST', '/products', { sku, attributes: toSent(long) })
    const product = { action: 'products.change', object: { kind: 'product', id: made.body.data.id } }
    const idempotencyKey = expect.any(String)
    expect(await newestAudit()).toEqual(
      entry('admin', { ...product, idempotencyKey, changes: { sku, attributes: { bytes, names } } }),
    )
    const patch = { attributes: toSent({ tags: Array.from({ length: 2_100 }, () => 1) }) }
    await send('admin', 'PATCH', `/products/${made.body.data.id}`, patch, ANY_VERSION)
    const changes = { attributes: { bytes: 4_210, names: ['tags'] }, mode: 'merge', version: 2 }
    expect(await newestAudit()).toEqual(entry('admin', { ...product, idempotencyKey: null, changes }))
  })

  it('keeps attributes of 4096 bytes as they were sent, and the length alone of a longer list', async () => {
    const attributes = `{"n":0.10,"filler":"${'x'.repeat(4_096 - 22)}"}`
    const list = JSON.stringify(Array.from({ length: 2_048 }, () => 1))
    for (const [sent, kept] of [
      [attributes, attributes],
      [list, { bytes: 4_097 }],
    ] as const) {
      const sku = `KEPT-${randomUUID()}`
      await send('admin', 'POST', '/products', { sku, attributes: sent })
      expect((await newestAudit()).changes).toEqual({ sku, attributes: kept })
    }
  })

  it('leaves out the reasons and references of many movements, which the movements keep', async () => {
    const { productId, locationId } = await addPlace()
    const texts = { reason: 'counted again', reference: 'r'.repeat(255) }
    const line = { type: 'receive', productId, locationId, quantity: 1 }
    const sent = Array.from({ length: 20 }, () => ({ ...line, ...texts }))
    const moved = await send('support', 'POST', '/movements', { lines: sent })
    const { id, ids } = moved.body.data
    expect((await newestAudit()).changes).toEqual({ ids, lines: sent.map(() => line) })
    const { body } = await send('viewer', 'GET', `/movements/${id}`)
    expect([body.data.reason, body.data.reference]).toEqual([texts.reason, texts.reference])
  })

  it('names who changed and deleted a location', async () => {
    const { locationId: id } = await addPlace()
    await send('admin', 'PATCH', `/locations/${id}`, { name: 'Rack' }, ANY_VERSION)
    const object = { kind: 'location', id }
    const change = { action: 'locations.change', object, idempotencyKey: null }
    expect(await newestAudit()).toEqual(entry('admin', { ...change, changes: { name: 'Rack', version: 2 } }))
    await send('admin', 'DELETE', `/locations/${id}`, undefined, ANY_VERSION)
    expect(await newestAudit()).toEqual(entry('admin', { ...change, changes: { deleted: true } }))
  })

  it('has an entry of each other action that a request of an operator makes', async () => {
    const { productId, locationId } = await addPlace()
    const { locationId: toLocationId } = await addPlace()
    const place = { productId, locationId }
    await send('support', 'POST', '/movements', { type: 'receive', ...place, quantity: 9 })
    const replaced = { sku: `PUT-${randomUUID()}`, attributes: {} }
    const requests = [
      ['products.change', 'PUT', `/products/${productId}`, replaced],
      ['locations.change', 'POST', '/locations', { code: `P-${randomUUID().slice(0, 8)}`, name: 'Shelf' }],
      ['stock.count', 'POST', '/movements', { type: 'count', ...place, quantity: 8 }],
      ['stock.ship', 'POST', '/movements', { type: 'ship', ...place, quantity: 1 }],
      ['stock.adjust', 'POST', '/movements', { type: 'adjust', ...place, delta: 1, reason: 'found' }],
      [
        'stock.transfer',
        'POST',
        '/movements',
        { type: 'transfer', productId, fromLocationId: locationId, toLocationId, quantity: 1 },
      ],
    ] as const
    for (const [action, method, url, body] of requests) {
      const before = await countAudit()
      const { status } = await send('admin', method, url, body, method === 'PUT' ? ANY_VERSION : {})
      expect([status < 300, await countAudit(), (await newestAudit()).action]).toEqual([true, before + 1, action])
    }
  })

  it('names who released a reservation', async () => {
    const place = await addPlace()
    await send('support', 'POST', '/movements', { type: 'receive', ...place, quantity: 1 })
    const reserved = await inventory.app.inject({
      method: 'POST',
      url: '/reservations',
      payload: { ...place, quantity: 1 },
    })
    const { id } = reserved.json().data
    expect((await send('support', 'DELETE', `/reservations/${id}`)).status).toBe(204)
    const release = {
      action: 'reservations.release',
      object: { kind: 'reservation', id },
      idempotencyKey: null,
      changes: {},
    }
    const ofProduct = await send('viewer', 'GET', `/operator/audit?product=${place.productId}&limit=1`)
    expect([await newestAudit(), ...ofProduct.body.data]).toEqual(Array(2).fill(entry('support', release)))
    const before = await countAudit()
    expect((await send('support', 'DELETE', `/reservations/${id}`)).status).toBe(204)
    expect(await countAudit()).toBe(before)
  })

  it('has no row of a change that was refused', async () => {
    const { productId, locationId } = await addPlace()
    const before = await countAudit()
    const refused = [
      await send('admin', 'POST', '/movements', { type: 'ship', productId, locationId, quantity: 1 }),
      await send('admin', 'PATCH', `/products/${productId}`, { sku: 'X' }, { 'if-match': `"p${productId}-9"` }),
      await send('admin', 'POST', '/locations', {
        code: (await send('viewer', 'GET', `/locations/${locationId}`)).body.data.code,
        name: 'x',
      }),
    ]
    expect(refused.map(({ body }) => body)).toEqual([
      refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available: 0 }),
      refusedBody(412, 'PRECONDITION_FAILED', 'The product was changed in the meantime.'),
      refusedBody(409, 'CONFLICT', 'A location with this code already exists.'),
    ])
    expect(await countAudit()).toBe(before)
  })

  it('has one row of a double click, whose second answer is that of the first', async () => {
    const { productId, locationId } = await addPlace()
    const before = await countAudit()
    const line = { type: 'receive', productId, locationId, quantity: 5 }
    const headers = { 'idempotency-key': randomUUID() }
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => send('support', 'POST', '/movements', line, headers)),
    )
    const [first] = answers
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [201, first?.body]))
    expect(answers.filter(({ headers: sent }) => sent['idempotent-replayed'] === 'true')).toHaveLength(5)
    const { body } = await send('viewer', 'GET', `/stock/${productId}/${locationId}`)
    expect([body.data.onHand, await countAudit()]).toEqual([5, before + 1])
  })

  it('has one row of a product that is made by a double click', async () => {
    const before = await countAudit()
    const headers = { 'idempotency-key': randomUUID() }
    const product = { sku: `TWICE-${randomUUID()}`, attributes: {} }
    const answers = await Promise.all([1, 2, 3].map(() => send('admin', 'POST', '/products', product, headers)))
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [201, answers[0]?.body]))
    expect(await countAudit()).toBe(before + 1)
  })

  it.each(['UPDATE inventory.operator_audit SET role = role', 'DELETE FROM inventory.operator_audit'])(
    'refuses %s',
    async (statement) => {
      await expect(inventory.query(statement)).rejects.toThrow('operator_audit is append-only')
    },
  )
})
