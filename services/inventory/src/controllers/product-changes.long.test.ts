import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { type Json, mergePatch } from '../products/merge-patch.model.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

let serial = 0
const newSku = () => `CHANGED-${++serial}`
const JSON_TYPE = { 'content-type': 'application/json' }
const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET', url: string, body?: unknown, headers = {}) =>
  inventory.app.inject({
    method,
    url,
    headers: { ...(body === undefined ? {} : JSON_TYPE), ...headers },
    ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })

async function create(attributes: unknown = {}, sku = newSku()): Promise<{ id: number; sku: string; url: string }> {
  const response = await send('POST', '/products', { sku, attributes })
  expect(response.statusCode).toBe(201)
  const { id } = response.json().data
  return { id, sku, url: `/products/${id}` }
}

const stale = {
  statusCode: 412,
  error: { type: 'PRECONDITION_FAILED', description: 'The product was changed in the meantime.' },
}
const notFound = {
  statusCode: 404,
  error: { type: 'RESOURCE_NOT_FOUND', description: 'The product you requested does not exist.' },
}

describe('PUT /products/:productId', () => {
  it('200: replaces SKU and attributes, and shows the next version', async () => {
    const { id, url } = await create({ color: 'red', size: 1 })
    const sku = newSku()
    const response = await send('PUT', url, { sku, attributes: '{"color":"blue","price":0.10}' })
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe(
      `{"statusCode":200,"data":{"id":${id},"sku":"${sku}","attributes":{"color": "blue", "price": 0.10}}}`,
    )
    expect(response.headers.etag).toBe(`"p${id}-2"`)
    expect((await send('GET', url)).body).toBe(response.body)
  })

  it('409: refuses the SKU of another product, and changes nothing', async () => {
    const [one, other] = [await create({ a: 1 }), await create()]
    const response = await send('PUT', one.url, { sku: other.sku, attributes: { a: 2 } })
    expect(envelopeOf(response)).toEqual({
      statusCode: 409,
      error: { type: 'CONFLICT', description: 'A product with this sku already exists.' },
    })
    const product = await send('GET', one.url)
    expect([envelopeOf(product).data, product.headers.etag]).toEqual([
      { id: one.id, sku: one.sku, attributes: { a: 1 } },
      `"p${one.id}-1"`,
    ])
  })

  it.each<[unknown, string, string]>([
    [{ sku: 'A' }, 'attributes', 'is required'],
    [{ attributes: {} }, 'sku', 'is required'],
    [{ sku: 'A', attributes: 'null' }, 'attributes', 'must not be null'],
    [{ sku: 'A', attributes: {}, id: 1 }, 'id', 'is not known here'],
  ])('400: refuses %j', async (body, path, message) => {
    const { url } = await create()
    const response = await send('PUT', url, body)
    expect(envelopeOf(response)).toEqual(invalidBody(path, message))
  })

  it('404: refuses an unknown id, whatever If-Match names', async () => {
    for (const headers of [{}, { 'if-match': '"p1-1"' }, { 'if-match': '*' }]) {
      const response = await send('PUT', '/products/9007199254740991', { sku: 'A', attributes: {} }, headers)
      expect(envelopeOf(response)).toEqual(notFound)
    }
  })
})

describe('PATCH /products/:productId', () => {
  it.each<[unknown, unknown, unknown]>([
    [{ a: 1, b: { c: 2, d: 3 } }, { b: { c: null, e: 4 } }, { a: 1, b: { d: 3, e: 4 } }],
    [{ a: 1 }, { a: null }, {}],
    [{ a: 1 }, {}, { a: 1 }],
    [[1, 2], { a: 1 }, { a: 1 }],
    [{ a: 1 }, [1], [1]],
    [{ a: 1 }, '"text"', 'text'],
    [{ a: 1 }, '{"b":null,"c":{"d":null}}', { a: 1, c: {} }],
  ])('200: %j patched with %j becomes %j', async (before, attributes, after) => {
    const { sku, url } = await create(before)
    const response = await send('PATCH', url, { attributes })
    const { statusCode, data } = envelopeOf(response)
    expect([statusCode, data.sku, data.attributes]).toEqual([200, sku, after])
  })

  it('200: changes the SKU alone, as application/merge-patch+json', async () => {
    const { id, url } = await create({ a: 1 })
    const sku = newSku()
    const headers = { 'content-type': 'application/merge-patch+json' }
    const response = await send('PATCH', url, { sku }, headers)
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: { id, sku, attributes: { a: 1 } } })
  })

  it('200: keeps every digit of stored and of sent numbers', async () => {
    const { url } = await create('{"big":12345678901234567890,"cents":0.10}')
    const { statusCode, body } = await send('PATCH', url, '{"attributes":{"more":1e2,"deep":{"n":1.50}}}')
    expect(statusCode).toBe(200)
    for (const kept of ['12345678901234567890', '0.10', '"more": 100', '1.50']) expect(body).toContain(kept)
  })

  it.each<[unknown, string, string]>([
    [{}, '', 'must have sku or attributes'],
    [{ sku: null }, 'sku', 'must be a string'],
    [{ attributes: null }, 'attributes', 'must be a text that is JSON, an object or an array'],
    [{ attributes: 'null' }, 'attributes', 'must not be null'],
    [{ attributes: { __proto: 1 }, other: 1 }, 'other', 'is not known here'],
  ])('400: refuses %j', async (body, path, message) => {
    const { url } = await create()
    const response = await send('PATCH', url, body)
    expect(envelopeOf(response)).toEqual(invalidBody(path, message))
  })

  it('200: applies any patch to any value as RFC 7396 says', async () => {
    const { url } = await create()
    const { json } = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json>(null, true, 1, 'a'),
        fc.array(tie('json'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('json'), { maxKeys: 3 }),
      ),
    }))
    await fc.assert(
      fc.asyncProperty(json, json, async (target, patch) => {
        fc.pre(target !== null && patch !== null)
        await send('PUT', url, { sku: 'MERGED', attributes: JSON.stringify(target) })
        const response = await send('PATCH', url, { attributes: JSON.stringify(patch) })
        expect(expectBody(200, response).data.attributes).toEqual(mergePatch(target, patch))
      }),
      { numRuns: 100 },
    )
  })
})

describe('DELETE /products/:productId', () => {
  it('204: deletes the product, frees its SKU, and keeps the row with the next revision', async () => {
    const { id, sku, url } = await create()
    const [before] = await inventory.query('SELECT revision FROM inventory.products WHERE id = $1', [id])
    const response = await send('DELETE', url)
    expect([response.statusCode, response.body]).toEqual([204, ''])
    for (const method of ['GET', 'DELETE'] as const) expect((await send(method, url)).json()).toEqual(notFound)
    expect((await send('PATCH', url, { sku })).json()).toEqual(notFound)
    expect((await create({}, sku)).id).toBeGreaterThan(id)
    const [after] = await inventory.query('SELECT revision, deleted_at FROM inventory.products WHERE id = $1', [id])
    expect(after?.deleted_at).toBeInstanceOf(Date)
    expect(Number(after?.revision)).toBeGreaterThan(Number(before?.revision))
  })
})

it('409: refuses to delete a product with stock', async () => {
  const { id, url } = await create()
  await inventory.query(
    `INSERT INTO inventory.stock_levels (product_id, location_id, on_hand) SELECT $1, min(id), 1 FROM inventory.locations`,
    [id],
  )
  const response = await send('DELETE', url)
  expect(envelopeOf(response)).toEqual({
    statusCode: 409,
    error: { type: 'CONFLICT', description: 'The product still has stock.' },
  })
  expect((await send('GET', url)).headers.etag).toBe(`"p${id}-1"`)
})

describe('If-Match', () => {
  it.each(['"p{id}-1"', '*', ' "x" , "p{id}-1"'])('200: changes the product with If-Match %s', async (header) => {
    const { id, sku, url } = await create()
    const headers = { 'if-match': header.replaceAll('{id}', String(id)) }
    const response = await send('PATCH', url, { attributes: { a: 1 } }, headers)
    const data = { id, sku, attributes: { a: 1 } }
    expect([response.statusCode, response.json()]).toEqual([200, { statusCode: 200, data }])
    const removed = await send('DELETE', url, undefined, { 'if-match': `"p${id}-2"` })
    expect([removed.statusCode, removed.body]).toEqual([204, ''])
  })

  it.each(['W/"p{id}-1"', '"p{id}-2"', '"p1{id}-1"', 'p{id}-1', ''])(
    '412: refuses to change or delete the product with If-Match %s',
    async (header) => {
      const { id, url } = await create()
      const before = (await send('GET', url)).json()
      const headers = { 'if-match': header.replaceAll('{id}', String(id)) }
      for (const response of [
        await send('PATCH', url, { attributes: { a: 1 } }, headers),
        await send('DELETE', url, undefined, headers),
      ]) {
        expect([response.statusCode, response.json()]).toEqual([412, stale])
      }
      expect((await send('GET', url)).json()).toEqual(before)
    },
  )

  it('412: refuses all but one of many changes that are based on one version', async () => {
    const { id, url } = await create({ n: 0 })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        send('PATCH', url, { attributes: { n: n + 1 } }, { 'if-match': `"p${id}-1"` }),
      ),
    )
    const refused = answers.filter(({ statusCode }) => statusCode !== 200).map(envelopeOf)
    expect(refused).toEqual(Array(49).fill(stale))
    expect((await send('GET', url)).headers.etag).toBe(`"p${id}-2"`)
  })

  it('200: loses none of many changes without If-Match', async () => {
    const { id, url } = await create({})
    const keys = Array.from({ length: 50 }, (_, n) => `k${n}`)
    const changes = await Promise.all(keys.map((key) => send('PATCH', url, { attributes: { [key]: 1 } })))
    expect(changes.map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200))
    const product = await send('GET', url)
    expect(Object.keys(expectBody(200, product).data.attributes).sort()).toEqual(keys.sort())
    expect(product.headers.etag).toBe(`"p${id}-51"`)
  })
})
