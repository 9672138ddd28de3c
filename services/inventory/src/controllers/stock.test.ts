import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody, refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { stockRequests } from '../../test/stock-requests.ts'

let inventory: TestInventory
let requests: ReturnType<typeof stockRequests>
let products: number[]
let locations: number[]
beforeAll(async () => {
  inventory = await startInventory()
  requests = stockRequests(inventory)
  products = [await requests.addProduct(), await requests.addProduct(), await requests.addProduct()]
  locations = [1, await requests.addLocation(), await requests.addLocation()]
  await requests.move({
    lines: products.flatMap((productId, product) =>
      locations.map((locationId, location) => ({
        ...{ type: 'receive', productId, locationId, quantity: 10 * product + location + 1 },
      })),
    ),
  })
  await requests.reserve({ productId: products[0], locationId: 1, quantity: 1 })
})
afterAll(() => inventory.close())

const ABSENT = 9_007_199_254_740_991
const get = (url: string, headers?: Record<string, string>) => requests.get(url, headers)
const level = (product: number, location: number) => {
  const onHand = 10 * product + location + 1
  const reserved = product === 0 && location === 0 ? 1 : 0
  const place = { productId: products[product], locationId: locations[location] }
  return { ...place, onHand, reserved, available: onHand - reserved, updatedAt: anyTime }
}
const every = () => [0, 1, 2].flatMap((product) => [0, 1, 2].map((location) => level(product, location)))
const missing = (noun: string) => ({
  statusCode: 404,
  error: { type: 'RESOURCE_NOT_FOUND', description: `The ${noun} you requested does not exist.` },
})

describe('GET /stock', () => {
  it('200: lists levels by product and location', async () => {
    const response = await get('/stock')
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: every() })
    expect(response.headers.link).toBe('</stock>; rel="first"')
  })

  it.each([1, 2, 4, 9])('200: pages of %i show each level once', async (limit) => {
    const seen: object[] = []
    for (let url: string | undefined = `/stock?limit=${limit}&below=1000`; url; ) {
      const response = await get(url)
      seen.push(...expectBody(200, response).data)
      url = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
    }
    expect(seen).toEqual(every())
  })

  it('200: filters by product, location, SKU and available quantity together', async () => {
    const list = async (query: string) => expectBody(200, await get(`/stock?${query}`)).data
    const { sku } = (await get(`/products/${products[1]}`)).json().data
    expect(await list(`productId=${products[1]}`)).toEqual([level(1, 0), level(1, 1), level(1, 2)])
    expect(await list('locationId=1')).toEqual([level(0, 0), level(1, 0), level(2, 0)])
    expect(await list(`sku=${sku}`)).toEqual([level(1, 0), level(1, 1), level(1, 2)])
    expect(await list('below=2')).toEqual([level(0, 0)])
    expect(await list('below=3')).toEqual([level(0, 0), level(0, 1)])
    expect(await list(`below=13&sku=${sku}&locationId=${locations[1]}`)).toEqual([level(1, 1)])
    expect(await list('sku=none')).toEqual([])
    expect(await list('below=0')).toEqual([])
  })

  it('200: adds SKU and code with include=names, on each page', async () => {
    const { sku } = (await get(`/products/${products[1]}`)).json().data
    const codes = (await get('/locations')).json().data.map(({ code }: { code: string }) => code)
    const named = [0, 1, 2].map((location) => ({ ...level(1, location), sku, location: codes[location] }))
    const response = await get(`/stock?productId=${products[1]}&include=names&limit=2`)
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: named.slice(0, 2) })
    const next = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1] ?? ''
    expect(envelopeOf(await get(next))).toEqual({ statusCode: 200, data: named.slice(2) })
  })

  it.each<[string, string, string]>([
    ['include=sku', 'include', 'must be one of names'],
    ['location=1', 'location', 'is not known here; did you mean locationId?'],
    ['below=-1', 'below', 'must be at least 0'],
    ['below=1.5', 'below', 'must be a whole number'],
    ['productId=a', 'productId', 'must be a whole number'],
    ['sku=', 'sku', 'must not be empty'],
    ['limit=501', 'limit', 'must be at most 500'],
    ['cursor=x', 'cursor', 'must come from the Link header of a page of this list'],
    ['q=x', 'q', 'is not known here'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect(envelopeOf(await get(`/stock?${query}`))).toEqual(invalidBody(path, message))
  })
})

describe('GET /stock/:productId', () => {
  it('200: shows the sums over all locations, and each level', async () => {
    expect(envelopeOf(await get(`/stock/${products[0]}`))).toEqual({
      statusCode: 200,
      data: {
        ...{ productId: products[0], onHand: 6, reserved: 1, available: 5 },
        locations: [level(0, 0), level(0, 1), level(0, 2)],
      },
    })
  })

  it('200: shows no stock of a new product', async () => {
    const productId = await requests.addProduct()
    const data = { productId, onHand: 0, reserved: 0, available: 0, locations: [] }
    expect(envelopeOf(await get(`/stock/${productId}`))).toEqual({ statusCode: 200, data })
  })

  it('404: refuses an unknown product', async () => {
    const response = await get(`/stock/${ABSENT}`)
    expect([response.statusCode, response.json()]).toEqual([404, missing('product')])
  })
})

describe('GET /stock/:productId/:locationId', () => {
  it('304: sends no body to a client that has the ETag', async () => {
    const url = `/stock/${products[2]}/1`
    const etag = String((await get(url)).headers.etag)
    const unchanged = await get(url, { 'if-none-match': etag })
    expect([unchanged.statusCode, unchanged.body, unchanged.headers.etag]).toEqual([304, '', etag])
  })

  it('200: shows the level with its ETag, which changes with the level', async () => {
    const url = `/stock/${products[2]}/1`
    const response = await get(url)
    const etag = String(response.headers.etag)
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: level(2, 0) })
    expect(response.headers['cache-control']).toBe('no-cache')
    expect(etag).toMatch(new RegExp(`^"s${products[2]}-1-\\d{16}"$`))
    await requests.move({ type: 'count', productId: products[2], locationId: 1, quantity: 21 })
    const counted = await get(url, { 'if-none-match': etag })
    expect(envelopeOf(counted)).toEqual({ statusCode: 200, data: level(2, 0) })
    expect(counted.headers.etag).not.toBe(etag)
  })

  it('200: shows zeroes for a level that never had stock', async () => {
    const productId = await requests.addProduct()
    const response = await get(`/stock/${productId}/1`)
    expect(envelopeOf(response)).toEqual({
      statusCode: 200,
      data: { productId, locationId: 1, onHand: 0, reserved: 0, available: 0, updatedAt: null },
    })
    expect(response.headers.etag).toBe(`"s${productId}-1-0"`)
  })

  it('404: refuses an unknown product or location', async () => {
    expect(envelopeOf(await get(`/stock/${ABSENT}/1`))).toEqual(missing('product'))
    expect(envelopeOf(await get(`/stock/${products[0]}/${ABSENT}`))).toEqual(missing('location'))
    expect(envelopeOf(await get(`/stock/${products[0]}/1/2`))).toEqual(
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist. /docs shows all paths.'),
    )
  })

  it.each<[string, string, string]>([
    ['/stock/0/1', 'productId', 'must be at least 1'],
    ['/stock/1/x', 'locationId', 'must be a whole number'],
    ['/stock/01', 'productId', 'must be a whole number'],
  ])('400: refuses %s', async (url, path, message) => {
    expect(envelopeOf(await get(url))).toEqual(invalidBody(path, message))
  })
})

describe('a deleted product or location', () => {
  it('200: has no levels in lists', async () => {
    const [productId, locationId] = [await requests.addProduct(), await requests.addLocation()]
    for (const quantity of [1, 0]) await requests.move({ type: 'count', productId, locationId, quantity })
    const empty = { productId, locationId, onHand: 0, reserved: 0, available: 0, updatedAt: anyTime }
    expect(envelopeOf(await get(`/stock?locationId=${locationId}`))).toEqual({ statusCode: 200, data: [empty] })
    await requests.send('DELETE', `/locations/${locationId}`)
    expect(envelopeOf(await get(`/stock?locationId=${locationId}`))).toEqual({ statusCode: 200, data: [] })
    expect(envelopeOf(await get(`/stock/${productId}`)).data.locations).toEqual([])
    expect(envelopeOf(await get(`/stock/${productId}/${locationId}`))).toEqual(missing('location'))
  })
})
