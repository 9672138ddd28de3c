import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody, refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

let serial = 0
const newSku = () => `SKU-${++serial}`
const get = (url: string, headers = {}) => inventory.app.inject({ url, headers })
const post = (payload: unknown) =>
  inventory.app.inject({
    method: 'POST',
    url: '/products',
    headers: { 'content-type': 'application/json' },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  })

async function create(attributes: unknown, sku = newSku()): Promise<number> {
  const response = await post({ sku, attributes })
  expect(response.statusCode).toBe(201)
  return response.json().data.id
}

/** The complete answer with a product. */
const shown = (id: number, sku: string, attributes: unknown) => ({ statusCode: 200, data: { id, sku, attributes } })

const FORBIDDEN_KEY = 'must not have a key "__proto__", or a key "constructor" whose value has a key "prototype"'

describe('POST /products', () => {
  it('201: creates a product, and confirms with its id, Location and ETag', async () => {
    const response = await post({ sku: newSku(), attributes: '{"color":"red"}' })
    const { id } = response.json().data
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ statusCode: 201, data: { id, message: `Product ${id} was created.` } })
    const { location, etag, 'content-type': type, 'cache-control': caching } = response.headers
    expect([location, etag, type, caching]).toEqual([
      `/products/${id}`,
      `"p${id}-1"`,
      'application/json; charset=utf-8',
      'no-store',
    ])
  })

  it.each(['[1,2]', '"red"', '5', 'false', '{}', ' {"a" : 1} '])(
    '201: accepts the JSON value %s',
    async (attributes) => {
      const sku = newSku()
      const id = await create(attributes, sku)
      expect((await get(`/products/${id}`)).json()).toEqual(shown(id, sku, JSON.parse(attributes)))
    },
  )

  it.each([[{ a: [1, { b: null }] }], [[1, 'x']]])('201: accepts %j as an object or array', async (attributes) => {
    const sku = newSku()
    const id = await create(attributes, sku)
    expect((await get(`/products/${id}`)).json()).toEqual(shown(id, sku, attributes))
  })

  it('201: keeps every digit, sent as text or as an object', async () => {
    const numbers = '{"big":12345678901234567890,"price":0.10,"e":1e2,"small":-1.50E-3}'
    const kept = '{"e": 100, "big": 12345678901234567890, "price": 0.10, "small": -0.00150}'
    const asText = await create(numbers)
    const asObject = (await post(`{"attributes":${numbers},"sku":"${newSku()}"}`)).json().data.id
    for (const id of [asText, asObject]) expect((await get(`/products/${id}`)).body).toContain(`"attributes":${kept}}`)
  })

  it('201: the last value of a repeated key counts', async () => {
    const response = await post(`{"sku":"lost","sku":"${newSku()}","attributes":{"a":1},"attributes":{"a":2,"a":3}}`)
    const { id } = expectBody(201, response).data
    expect(envelopeOf(await get(`/products/${id}`))).toEqual(shown(id, `SKU-${serial}`, { a: 3 }))
  })

  it('201: makes the product of a form', async () => {
    const response = await inventory.app.inject({
      method: 'POST',
      url: '/products',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ sku: 'ä form+', attributes: '{"a b":"c&d"}' }).toString(),
    })
    const { id } = expectBody(201, response).data
    expect(envelopeOf(await get(`/products/${id}`))).toEqual(shown(id, 'ä form+', { 'a b': 'c&d' }))
  })

  it.each(['{"sku":"A"}', '[{"sku":"A"}]', ' {"sku":"A=B&C=D","attributes":{}}'])(
    '400: says which header %s needs that came as a form, and repeats none of it',
    async (payload) => {
      const response = await inventory.app.inject({
        method: 'POST',
        url: '/products',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload,
      })
      const message = 'is JSON, which needs the header Content-Type: application/json'
      const issues = [{ path: '', message }]
      expect(envelopeOf(response)).toEqual(refusedBody(400, 'VALIDATION_ERROR', `The request: ${message}`, { issues }))
    },
  )

  it('400: names an unknown member of JSON that begins like JSON', async () => {
    const response = await post({ sku: newSku(), attributes: {}, '{a': 1 })
    const issues = [{ path: '{a', message: 'is not known here' }]
    expect(envelopeOf(response)).toEqual(refusedBody(400, 'VALIDATION_ERROR', '{a: is not known here', { issues }))
  })

  // ASVS 1.2.4
  it.each(['😀'.repeat(255), "x'; DROP TABLE products; --", '$.a ? (@ == 1)', '../..', '%_\\'])(
    '201: stores the sku %s as plain text',
    async (sku) => {
      const id = await create('{}', sku)
      expect((await get(`/products/${id}`)).json()).toEqual({ statusCode: 200, data: { id, sku, attributes: {} } })
    },
  )

  it('201: tells SKUs apart by case and by normalisation', async () => {
    for (const sku of ['case', 'CASE', 'caf\u00e9', 'cafe\u0301']) {
      const id = await create('{}', sku)
      expect((await get(`/products?sku=${encodeURIComponent(sku)}`)).json()).toEqual({
        statusCode: 200,
        data: [{ id, sku, attributes: {} }],
      })
    }
  })

  it('409: refuses a taken SKU', async () => {
    const sku = newSku()
    await create('{}', sku)
    const response = await post({ sku, attributes: '{}' })
    expect(response.statusCode).toBe(409)
    expect(response.json()).toEqual({
      statusCode: 409,
      error: { type: 'CONFLICT', description: 'A product with this sku already exists.' },
    })
  })

  it('201: accepts the SKU of a deleted product', async () => {
    const sku = newSku()
    const id = await create('{}', sku)
    await inventory.query('UPDATE inventory.products SET deleted_at = now() WHERE id = $1', [id])
    expect((await get(`/products/${id}`)).json()).toEqual(
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The product you requested does not exist.'),
    )
    await create('{}', sku)
  })

  it.each<[unknown, string, string]>([
    [{ attributes: '{}' }, 'sku', 'is required'],
    [{ sku: 5, attributes: '{}' }, 'sku', 'must be a string'],
    [{ sku: null, attributes: '{}' }, 'sku', 'must be a string'],
    [{ sku: '', attributes: '{}' }, 'sku', 'must not be empty'],
    [{ sku: ' A', attributes: '{}' }, 'sku', 'must not begin or end with white space'],
    [{ sku: 'x'.repeat(256), attributes: '{}' }, 'sku', 'must have at most 255 characters'],
    [{ sku: 'A\u0000B', attributes: '{}' }, 'sku', 'must not hold control characters'],
    [{ sku: 'A\nB', attributes: '{}' }, 'sku', 'must not hold control characters'],
    ['{"sku":"\\ud83d","attributes":"{}"}', 'sku', 'must be well-formed Unicode'],
    [{ sku: 'S' }, 'attributes', 'is required'],
    [{ sku: 'S', attributes: null }, 'attributes', 'must be a text that is JSON, an object or an array'],
    [{ sku: 'S', attributes: 5 }, 'attributes', 'must be a text that is JSON, an object or an array'],
    [{ sku: 'S', attributes: true }, 'attributes', 'must be a text that is JSON, an object or an array'],
    [{ sku: 'S', attributes: '{bad' }, 'attributes', 'must be JSON'],
    [{ sku: 'S', attributes: '' }, 'attributes', 'must be JSON'],
    [{ sku: 'S', attributes: 'null' }, 'attributes', 'must not be null'],
    [{ sku: 'S', attributes: '{"a":"\\u0000"}' }, 'attributes', 'must not hold U+0000 or half a surrogate pair'],
    [{ sku: 'S', attributes: '{"__proto__":1}' }, 'attributes', FORBIDDEN_KEY],
    [{ sku: 'S', attributes: '[{"constructor":{"prototype":1}}]' }, 'attributes', FORBIDDEN_KEY],
    [{ sku: 'S', attributes: `"${'x'.repeat(65_536)}"` }, 'attributes', 'must be at most 65536 bytes of JSON'],
    [{ sku: 'S', attributes: '[1e99999]' }, 'attributes', 'must not hold a number that is too long when written out'],
    ['{"sku":"S","attributes":[1e99999]}', 'attributes', 'must not hold a number that is too long when written out'],
    [{ sku: 'S', attributes: '{}', id: 7 }, 'id', 'is not known here'],
  ])('400: refuses %j, path "%s"', async (body, path, message) => {
    const response = await post(body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(invalidBody(path, message))
  })

  it('400: names every member that is missing', async () => {
    const issues = ['sku', 'attributes'].map((path) => ({ path, message: 'is required' }))
    expect(envelopeOf(await post({}))).toEqual(refusedBody(400, 'VALIDATION_ERROR', 'sku: is required', { issues }))
  })

  it('400: accepts an object with 1,000 keys and 32 levels, and refuses one more', async () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
    const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    await create(keys(1_000))
    await create(nested(32))
    expect(envelopeOf(await post({ sku: newSku(), attributes: keys(1_001) }))).toEqual(
      invalidBody('attributes', 'must have at most 1000 keys in all'),
    )
    expect(envelopeOf(await post({ sku: newSku(), attributes: nested(33) }))).toEqual(
      invalidBody('attributes', 'must be nested at most 32 levels deep'),
    )
  })

  it.each<[string, string]>([
    ['[]', 'The body must be a JSON object.'],
    ['"x"', 'The body must be a JSON object.'],
    ['null', 'The body must be a JSON object.'],
    ['{"sku":', 'The body is no JSON.'],
    ['{"sku":"S","__proto__":{}}', 'The body has a key with a forbidden name.'],
    ['{"sku":"S","attributes":{"a":{"__proto__":1}}}', 'The body has a key with a forbidden name.'],
    ['{"sku":"S","attributes":{"constructor":{"prototype":1}}}', 'The body has a key with a forbidden name.'],
    [`{"sku":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'The body is nested deeper than 64 levels.'],
  ])('400: refuses the body %s', async (body, description) => {
    const response = await post(body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({ statusCode: 400, error: { type: 'BAD_REQUEST', description } })
  })
})

describe('Idempotency-Key', () => {
  const send = (sku: string, key: string) =>
    inventory.app.inject({
      method: 'POST',
      url: '/products',
      headers: { 'idempotency-key': key },
      payload: { sku, attributes: '{}' },
    })

  it('201: repeats the answer to the same request, and creates nothing', async () => {
    const sku = newSku()
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(sku, 'same')))
    const [first] = answers
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(201))
    expect(new Set(answers.map(({ body, headers }) => `${body} ${headers.location} ${headers.etag}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(19)
    const id: unknown = first?.json().data.id
    expect(first?.json()).toEqual({ statusCode: 201, data: { id, message: `Product ${id} was created.` } })
    expect((await get(`/products?sku=${sku}`)).json()).toEqual({ statusCode: 200, data: [{ id, sku, attributes: {} }] })
  })

  it('422: refuses the key for another request', async () => {
    await send(newSku(), 'taken')
    const response = await send(newSku(), 'taken')
    expect(envelopeOf(response)).toEqual({
      statusCode: 422,
      error: { type: 'VERIFICATION_ERROR', description: 'This Idempotency-Key was used for another request.' },
    })
  })

  it('409: a refused request leaves its key free', async () => {
    const sku = newSku()
    const id = await create('{}', sku)
    expect(envelopeOf(await send(sku, 'free'))).toEqual({
      statusCode: 409,
      error: { type: 'CONFLICT', description: 'A product with this sku already exists.' },
    })
    const deleted = await inventory.app.inject({ method: 'DELETE', url: `/products/${id}` })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    const made = (await send(sku, 'free')).json()
    const { id: next } = made.data
    expect(made).toEqual({ statusCode: 201, data: { id: next, message: `Product ${next} was created.` } })
  })
})

describe('GET /products/:productId', () => {
  it('200: shows the product with its ETag', async () => {
    const sku = newSku()
    const id = await create('{"a":1}', sku)
    const etag = `"p${id}-1"`
    const response = await get(`/products/${id}`)
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: { id, sku, attributes: { a: 1 } } })
    expect([response.headers.etag, response.headers['cache-control']]).toEqual([etag, 'no-cache'])
    expect(envelopeOf(await get(`/products/${id}`, { 'if-none-match': '"other"' }))).toEqual(response.json())
  })

  it('304: sends no body to a client that has the ETag', async () => {
    const id = await create('{"a":1}')
    const etag = `"p${id}-1"`
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const unchanged = await get(`/products/${id}`, { 'if-none-match': known })
      expect([unchanged.statusCode, unchanged.body, unchanged.headers.etag]).toEqual([304, '', etag])
    }
  })

  it('200: the ETag changes with the stock that include shows', async () => {
    const id = await create('{}')
    const url = `/products/${id}?include=stock`
    const tagOf = async () => String((await get(url)).headers.etag)
    const none = await tagOf()
    const unchanged = await get(url, { 'if-none-match': none })
    expect([unchanged.statusCode, unchanged.body]).toEqual([304, ''])
    const receive = { type: 'receive', productId: id, locationId: 1, quantity: 10 }
    expect((await inventory.app.inject({ method: 'POST', url: '/movements', payload: receive })).statusCode).toBe(201)
    const response = await get(url, { 'if-none-match': none })
    expect(response.statusCode).toBe(200)
    // It contains no spaces, like the rest of the answer.
    expect(response.body).toContain('"stock":{"onHand":10,"reserved":0,"available":10}')
    // Each representation has its own ETag. A change of this version accepts any of these ETags.
    const tags = await Promise.all(
      ['', '?include=meta', '?include=stock', '?include=meta,stock'].map(async (query) =>
        String((await get(`/products/${id}${query}`)).headers.etag),
      ),
    )
    expect(new Set(tags).size).toBe(4)
    const change = (etag: string, name: number) =>
      inventory.app.inject({
        method: 'PATCH',
        url: `/products/${id}`,
        headers: { 'if-match': etag, 'content-type': 'application/merge-patch+json' },
        payload: `{"attributes":{"name":${name}}}`,
      })
    expect((await change(tags[3] ?? '', 1)).statusCode).toBe(200)
    expect((await change(tags[3] ?? '', 2)).json()).toEqual(
      refusedBody(412, 'PRECONDITION_FAILED', 'The product was changed in the meantime.'),
    )
  })

  it('404: refuses an unknown id, also with If-None-Match', async () => {
    const response = await get('/products/9007199254740991', { 'if-none-match': '*' })
    expect(response.statusCode).toBe(404)
    expect(response.json()).toEqual({
      statusCode: 404,
      error: { type: 'RESOURCE_NOT_FOUND', description: 'The product you requested does not exist.' },
    })
  })

  it.each<[string, string]>([
    ['0', 'must be at least 1'],
    ['-1', 'must be at least 1'],
    ['01', 'must be a whole number'],
    ['1.0', 'must be a whole number'],
    ['abc', 'must be a whole number'],
    ['1e2', 'must be a whole number'],
    ['%201', 'must be a whole number'],
    ['9007199254740992', 'must be at most 9007199254740991'],
    ['x'.repeat(500), 'must be a whole number'],
  ])('400: refuses the id %s', async (id, message) => {
    const response = await get(`/products/${id}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(invalidBody('productId', message))
  })
})

describe('GET /products', () => {
  let list: TestInventory
  beforeAll(async () => {
    list = await startInventory()
    await list.query(`INSERT INTO inventory.products (sku, attributes)
      SELECT 'P' || n, jsonb_build_object('n', n) FROM generate_series(1, 120) AS n ORDER BY n`)
    await list.query('UPDATE inventory.products SET deleted_at = now() WHERE id IN (3, 60)')
  })
  afterAll(() => list.close())
  const page = async (url: string) => {
    const answer = await list.app.inject({ url })
    const { link } = answer.headers
    const next = /<([^>]+)>; rel="next"/.exec(String(link))?.[1]
    return { next, link, ids: expectBody(200, answer).data.map(({ id }: { id: number }) => id) }
  }
  const live = Array.from({ length: 120 }, (_, at) => at + 1).filter((id) => id !== 3 && id !== 60)

  it('200: lists live products by id, 50 of them', async () => {
    const { ids, link } = await page('/products')
    expect(ids).toEqual(live.slice(0, 50))
    expect(link).toMatch(/^<\/products\?cursor=[\w-]+>; rel="next", <\/products>; rel="first"$/)
  })

  it.each([1, 7, 50, 118, 119, 500])('200: pages of %i show each product once', async (limit) => {
    const seen: number[] = []
    for (let url: string | undefined = `/products?limit=${limit}`; url; ) {
      const { ids, next } = await page(url)
      seen.push(...ids)
      url = next
    }
    expect(seen).toEqual(live)
  })

  it('200: answers with an empty list', async () => {
    const empty = await startInventory()
    const response = await empty.app.inject({ url: '/products' })
    await empty.close()
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: [] })
    expect(response.headers.link).toBe('</products>; rel="first"')
  })

  it.each<[string, string, string]>([
    ['limit=0', 'limit', 'must be at least 1'],
    ['limit=-1', 'limit', 'must be at least 1'],
    ['limit=501', 'limit', 'must be at most 500'],
    ['limit=1.5', 'limit', 'must be a whole number'],
    ['limit=', 'limit', 'must be a whole number'],
    ['limit=1&limit=2', 'limit', 'must be a whole number'],
    ['cursor=abc', 'cursor', 'must come from the Link header of a page of this list'],
    ['cursor=', 'cursor', 'must come from the Link header of a page of this list'],
    ['constructor=1', 'constructor', 'is not known here; the filter of an attribute would be attributes.constructor'],
    ['x', 'x', 'is not known here; the filter of an attribute would be attributes.x'],
  ])('400: refuses ?%s', async (query, path, message) => {
    const response = await list.app.inject({ url: `/products?${query}` })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(invalidBody(path, message))
  })

  it('400: refuses the cursor of another list', async () => {
    const { next = '' } = await page('/products?limit=1')
    const response = await list.app.inject({ url: next.replace('/products', '/users') })
    expect(envelopeOf(response)).toEqual(invalidBody('cursor', 'must come from the Link header of a page of this list'))
  })
})
