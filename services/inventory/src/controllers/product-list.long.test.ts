import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { encodeCursor } from '../pagination/page.ts'
import { nameOfSelection } from '../products/product-query.ts'

let inventory: TestInventory
const get = (url: string) => inventory.app.inject({ url })

/** The attributes of products by SKU, in the order of ids. */
const PRODUCTS: Readonly<Record<string, unknown>> = {
  'shirt-red': { color: 'red', size: 42, price: 10, tags: ['new', 'sale'], dim: { w: 1.5 } },
  'shirt-blue': { color: 'blue', size: '42', price: 19.9, tags: ['sale', 7], dim: { w: 2 } },
  'SHIRT-XL': { color: 'Red', size: 43, price: 20, tags: 'new', note: null },
  'a,"b"': { code: 'x,"y"' },
  mug: { color: 'red', price: '15', 'a.b': 1, text: '100% cotton_\\' },
  'mug-2': { size: 42.0, on: true, nested: [{ color: 'red' }], 'say "hi"': 1 },
  list: ['red', 'new'],
  scalar: 'red',
  'ünï 😀': { word: 'straße', deep: { deeper: 'foo-bar baz' } },
}

beforeAll(async () => {
  inventory = await startInventory()
  for (const [sku, attributes] of Object.entries(PRODUCTS)) {
    const payload = { sku, attributes: JSON.stringify(attributes) }
    const response = await inventory.app.inject({ method: 'POST', url: '/products', payload })
    expect(response.statusCode).toBe(201)
  }
})
afterAll(() => inventory.close())

async function skusOf(query: string): Promise<string[]> {
  const response = await get(`/products?${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json().data.map(({ sku }: { sku: string }) => sku)
}

const encode = encodeURIComponent

describe('GET /products?…', () => {
  it.each<[string, string[]]>([
    ['sku=mug', ['mug']],
    ['sku=MUG', []],
    ['sku[in]=mug,list,none', ['mug', 'list']],
    ['sku[in]="mug",list', ['mug', 'list']],
    [`sku[in]=${encode('list,"a,""b"""')}`, ['a,"b"', 'list']],
    [`attributes.code[in]=${encode('z,"x,""y"""')}`, ['a,"b"']],
    ['sku[prefix]=shirt-', ['shirt-red', 'shirt-blue']],
    ['sku[prefix]=%25', []],
    ['attributes.color=red', ['shirt-red', 'mug']],
    ['attributes.size=42', ['shirt-red', 'shirt-blue', 'mug-2']],
    ['attributes.size=42.0', ['shirt-red', 'mug-2']],
    ['attributes.size=4.2e1', ['shirt-red', 'mug-2']],
    ['attributes.size="42"', ['shirt-blue']],
    ['attributes.size[in]=42.0,43', ['shirt-red', 'SHIRT-XL', 'mug-2']],
    ['attributes.note[in]=null,true', ['SHIRT-XL']],
    ['attributes.dim.w[in]=2,1.50', ['shirt-red', 'shirt-blue']],
    ['attributes.tags[in]=new,sale', ['SHIRT-XL']],
    [`attributes."a.b"[in]=1,2`, ['mug']],
    ['attributes.on=true', ['mug-2']],
    ['attributes.note=null', ['SHIRT-XL']],
    ['attributes.dim.w=2', ['shirt-blue']],
    [`attributes."a.b"=1`, ['mug']],
    [`attributes.${encode('"say \\"hi\\""')}=1`, ['mug-2']],
    ['attributes.tags=new', ['SHIRT-XL']],
    ['attributes.nested.color=red', []],
    ['attributes.color[ne]=red&sku[prefix]=shirt', ['shirt-blue']],
    ['attributes.color[ne]=red&attributes.size[exists]=true', ['shirt-blue', 'SHIRT-XL', 'mug-2']],
    ['attributes.price[gte]=10&attributes.price[lt]=20', ['shirt-red', 'shirt-blue']],
    ['attributes.price[gt]=10', ['shirt-blue', 'SHIRT-XL']],
    ['attributes.price[lte]=1e1', ['shirt-red']],
    ['attributes.price[gt]=-5', ['shirt-red', 'shirt-blue', 'SHIRT-XL']],
    ['attributes.price[gte]="15"', ['mug']],
    ['attributes.color[gte]=b', ['shirt-red', 'shirt-blue', 'mug']],
    ['attributes.color[lt]=a', ['SHIRT-XL']],
    ['attributes.color[in]=blue,Red', ['shirt-blue', 'SHIRT-XL']],
    ['attributes.size[in]=43,"42"', ['shirt-blue', 'SHIRT-XL']],
    ['attributes.tags[has]=new', ['shirt-red']],
    ['attributes.tags[has]=7', ['shirt-blue']],
    ['attributes.note[exists]=true', ['SHIRT-XL']],
    ['attributes.dim.w[exists]=true', ['shirt-red', 'shirt-blue']],
    ['attributes.color[exists]=false', ['a,"b"', 'mug-2', 'list', 'scalar', 'ünï 😀']],
    ['attributes.color[prefix]=R', ['SHIRT-XL']],
    ['attributes.text[prefix]=100%25', ['mug']],
    [`attributes.text=${encode('100% cotton_\\')}`, ['mug']],
    [`contains=${encode('{"tags":["sale"]}')}`, ['shirt-red', 'shirt-blue']],
    [`contains=${encode('["new"]')}`, ['list']],
    [`contains=${encode('"red"')}`, ['list', 'scalar']],
    ['contains=null', []],
    ['q=red', ['shirt-red', 'SHIRT-XL', 'mug', 'mug-2', 'list', 'scalar']],
    ['q=sale shir', ['shirt-red', 'shirt-blue']],
    ['q=shirt-', ['shirt-red', 'shirt-blue', 'SHIRT-XL']],
    ['q=baz', ['ünï 😀']],
    ['q=foo-bar', ['ünï 😀']],
    [`q=${encode('ÜNÏ 😀')}`, ['ünï 😀']],
    ['q=%25', []],
    ["q=' | blue", ['shirt-blue']],
    [`q=${encode("'\\ :* & !")}`, []],
    ['attributes.x%27;DROP TABLE products;--=1', []],
    [`attributes.${encode('"\\") || (true) //"')}=1`, []],
    ['attributes.color=red&sku=mug&q=cotton', ['mug']],
    ['attributes.__proto__=1', []],
  ])('200: finds the products of ?%s', async (query, skus) => {
    expect(await skusOf(query)).toEqual(skus)
  })

  // ASVS 4.3.1, 15.3.7
  it.each<[string, string, string]>([
    ['attributes=1', 'attributes', 'must be one of short'],
    ['attributes.=1', 'attributes.', 'must name at most eight keys, joined with dots'],
    ['attributes.a..b=1', 'attributes.a..b', 'must name at most eight keys, joined with dots'],
    [
      'attributes.a.b.c.d.e.f.g.h.i=1',
      'attributes.a.b.c.d.e.f.g.h.i',
      'must name at most eight keys, joined with dots',
    ],
    ['attributes.a[like]=1', 'attributes.a[like]', 'has an operator that is not known'],
    ['attributes.a[constructor]=1', 'attributes.a[constructor]', 'has an operator that is not known'],
    ['attributes.a[exists]=maybe', 'attributes.a[exists]', 'must be true or false'],
    ['attributes.a=1&attributes.a=2', 'attributes.a', 'must be given once'],
    [`attributes.a=1e${'9'.repeat(8)}`, 'attributes.a', 'must not be a number that is too long when written out'],
    ['attributes.a[gt]=1e99999', 'attributes.a[gt]', 'must not be a number that is too long when written out'],
    ['attributes.a=%00', 'attributes.a', 'must not hold U+0000'],
    ['sku=%00', 'sku', 'must not hold U+0000'],
    ['sku[like]=1', 'sku[like]', 'has an operator that is not known'],
    [`sku=${'x'.repeat(256)}`, 'sku', 'must have at most 255 characters'],
    [`sku[prefix]=${'x'.repeat(256)}`, 'sku[prefix]', 'must have at most 255 characters'],
    [`sku[in]=a,${'x'.repeat(256)}`, 'sku[in]', 'must have at most 255 characters'],
    ['sku[in]=', 'sku[in]', 'must have 1 to 100 values'],
    [`sku[in]=${'a,'.repeat(101)}`, 'sku[in]', 'must have 1 to 100 values'],
    [`attributes.a[in]=${'a,'.repeat(101)}`, 'attributes.a[in]', 'must have 1 to 100 values'],
    ['contains={', 'contains', 'must be JSON'],
    ['contains=%22%5Cu0000%22', 'contains', 'must not hold U+0000 or half a surrogate pair'],
    ['q=', 'q', 'must have 1 to 200 characters'],
    ['q=%20', 'q', 'must have 1 to 200 characters'],
    [`q=${'x'.repeat(201)}`, 'q', 'must have 1 to 200 characters'],
    ['sort=price', 'sort', 'must be one of id, -id, sku, -sku, createdAt, -createdAt, updatedAt, -updatedAt'],
    ['include=all', 'include.0', 'must be one of meta, stock'],
    ['count=yes', 'count', 'must be one of exact'],
    ['color=red', 'color', 'is not known here; the filter of an attribute would be attributes.color'],
    ['sorted=sku', 'sorted', 'is not known here; did you mean sort?'],
    ['offset=1', 'offset', 'is not known here; the filter of an attribute would be attributes.offset'],
  ])('400: refuses ?%s', async (query, path, message) => {
    const response = await get(`/products?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(invalidBody(path, message))
  })

  it('400: refuses more than 100 values in all lists', async () => {
    const list = (count: number) => Array.from({ length: count }, (_, n) => n).join(',')
    const query = `attributes.a[in]=${list(60)}&sku[in]=${list(40)}`
    expect(await skusOf(query)).toEqual([])
    expect(envelopeOf(await get(`/products?${query},x`))).toEqual({
      statusCode: 400,
      error: {
        type: 'VALIDATION_ERROR',
        description: 'The request: must have at most 100 values in all lists',
        issues: [{ path: '', message: 'must have at most 100 values in all lists' }],
      },
    })
  })

  // ASVS 4.3.1
  it('400: refuses more than ten filters', async () => {
    const query = Array.from({ length: 11 }, (_, n) => `attributes.a${n}=1`).join('&')
    expect(envelopeOf(await get(`/products?${query}`))).toEqual(invalidBody('', 'must have at most 10 filters'))
    expect(await skusOf(query.replace('attributes.a0=1&', ''))).toEqual([])
  })

  it('400: refuses filters that make the Link header too long', async () => {
    const query = (count: number) => `limit=1&attributes.color[ne]=${'('.repeat(count)}`
    const { statusCode, headers } = await get(`/products?${query(1_980)}`)
    expect([statusCode, String(headers.link).length < 13_000]).toEqual([200, true])
    const message = 'must have at most 6000 characters of filters, URL-encoded'
    expect(envelopeOf(await get(`/products?${query(1_993)}`))).toEqual({
      statusCode: 400,
      error: { type: 'VALIDATION_ERROR', description: `The request: ${message}`, issues: [{ path: '', message }] },
    })
    const skus = [`sku=${'🧦'.repeat(255)}`, `sku[prefix]=${encode('é'.repeat(255))}`]
    for (const sku of skus) expect(await skusOf(sku)).toEqual([])
  })

  it('200: count=exact counts all products that match', async () => {
    const response = await get('/products?attributes.color=red&limit=1&count=exact')
    expect([response.headers['x-total-count'], expectBody(200, response).data.length]).toEqual(['2', 1])
    expect((await get('/products')).headers).not.toHaveProperty('x-total-count')
  })

  it.each([
    ['sku', Object.keys(PRODUCTS).sort()],
    ['-sku', Object.keys(PRODUCTS).sort().reverse()],
    ['id', Object.keys(PRODUCTS)],
    ['-id', Object.keys(PRODUCTS).reverse()],
    ['createdAt', Object.keys(PRODUCTS)],
    ['-createdAt', Object.keys(PRODUCTS).reverse()],
    ['updatedAt', Object.keys(PRODUCTS)],
    ['-updatedAt', Object.keys(PRODUCTS).reverse()],
  ])('200: pages by %s show each product once', async (sort, expected) => {
    const seen: string[] = []
    for (let url: string | undefined = `/products?sort=${sort}&limit=3`; url !== undefined; ) {
      const response = await get(url)
      seen.push(...expectBody(200, response).data.map(({ sku }: { sku: string }) => sku))
      url = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
    }
    expect(seen).toEqual(expected)
  })

  it('200: neither skips nor repeats products with the same time', async () => {
    await inventory.query("UPDATE inventory.products SET updated_at = '2026-01-01 00:00:00.000001Z'")
    const seen: string[] = []
    for (let url: string | undefined = '/products?sort=-updatedAt&limit=1'; url !== undefined; ) {
      const response = await get(url)
      seen.push(...expectBody(200, response).data.map(({ sku }: { sku: string }) => sku))
      url = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
    }
    expect(seen).toEqual(Object.keys(PRODUCTS).reverse())
  })

  it('400: refuses a cursor of another sort, of other filters, or made up', async () => {
    const response = await get('/products?sort=sku&limit=1')
    const cursor = /cursor=([\w-]+)/.exec(String(response.headers.link))?.[1]
    expect(await skusOf(`limit=2&sort=sku&cursor=${cursor}`)).toHaveLength(2)
    for (const query of [`cursor=${cursor}`, `sort=-sku&cursor=${cursor}`, `sort=sku&sku=mug&cursor=${cursor}`]) {
      expect(envelopeOf(await get(`/products?${query}`))).toEqual(
        invalidBody('cursor', 'must come from the Link header of a page of this list'),
      )
    }
  })

  it.each(['2026-02-30T00:00:00.000000Z', '2026-01-01T24:00:00.000000Z', '0000-01-01T00:00:00.000000Z'])(
    '400: refuses a made-up cursor that begins at %s',
    async (time) => {
      const listing = `/products?${nameOfSelection({ sort: 'createdAt' })}`
      const from = (start: string) => get(`/products?sort=createdAt&cursor=${encodeCursor(listing, [start, '1'])}`)
      expect((await from('2026-02-28T00:00:00.000001Z')).statusCode).toBe(200)
      expect(envelopeOf(await from(time))).toEqual(
        invalidBody('cursor', 'must come from the Link header of a page of this list'),
      )
    },
  )

  // ASVS 1.2.2
  it('200: links repeat the parameters', async () => {
    const { statusCode, headers } = await get('/products?attributes.color=red&limit=1&include=meta&count=exact')
    expect([statusCode, headers.link]).toEqual([
      200,
      expect.stringMatching(
        /^<\/products\?attributes\.color=red&limit=1&include=meta&count=exact&cursor=[\w-]+>; rel="next", <\/products\?attributes\.color=red&limit=1&include=meta&count=exact>; rel="first"$/,
      ),
    ])
  })
})

describe('include', () => {
  it('200: shows the members that it names, in one product and in the list', async () => {
    const [row] = await inventory.query(
      "SELECT id::int, created_at, updated_at FROM inventory.products WHERE sku = 'mug'",
    )
    await inventory.query(
      `INSERT INTO inventory.stock_levels (product_id, location_id, on_hand, reserved)
        SELECT $1, id, 5, 2 FROM inventory.locations`,
      [row?.id],
    )
    const [{ count } = {}] = await inventory.query('SELECT count(*)::int FROM inventory.locations')
    const onHand = 5 * Number(count)
    const plain = { id: row?.id, sku: 'mug', attributes: PRODUCTS.mug }
    const iso = (value: unknown) => (value instanceof Date ? value.toISOString() : '')
    const meta = { createdAt: iso(row?.created_at), updatedAt: iso(row?.updated_at), version: 1 }
    const stock = { stock: { onHand, reserved: 2 * Number(count), available: 3 * Number(count) } }
    for (const [query, data] of [
      ['', plain],
      ['include=meta', { ...plain, ...meta }],
      ['include=stock', { ...plain, ...stock }],
      ['include=meta,stock', { ...plain, ...meta, ...stock }],
    ] as const) {
      const one = await get(`/products/${row?.id}?${query}`)
      expect(envelopeOf(one)).toEqual({ statusCode: 200, data })
      expect(one.headers.etag).toMatch(query === '' ? /^"p\d+-1"$/ : /^"p\d+-1-[\w-]{22}"$/)
      expect(envelopeOf(await get(`/products?sku=mug&${query}`))).toEqual({ statusCode: 200, data: [data] })
    }
    const [other] = (await get('/products?sku=list&include=stock')).json().data
    expect(other.stock).toEqual({ onHand: 0, reserved: 0, available: 0 })
  })
})

describe('attributes=short', () => {
  const filler = (length: number) => JSON.stringify({ filler: 'x'.repeat(length) })
  // PostgreSQL writes a space after the colon.
  const [LONGEST, TOO_LONG] = [4_096 - 14, 4_097 - 14]
  const row = (index: number, length: number) => ({
    sku: `LONG-${index}`,
    ...(length > LONGEST
      ? { attributes: null, attributesBytes: length + 14 }
      : { attributes: { filler: 'x'.repeat(length) } }),
  })
  beforeAll(async () => {
    for (const [index, length] of [LONGEST, TOO_LONG, 65_000].entries()) {
      const payload = { sku: `LONG-${index}`, attributes: filler(length) }
      expect((await inventory.app.inject({ method: 'POST', url: '/products', payload })).statusCode).toBe(201)
    }
  })

  // With the second limit, the page is long and is read in parts.
  it.each(['', '&limit=51'])(
    '200: shows the length of attributes above 4096 bytes in their place, with %s',
    async (more) => {
      const listed = await get(`/products?attributes=short&sku[prefix]=LONG-${more}`)
      const id = expect.any(Number)
      expect(envelopeOf(listed)).toEqual({
        statusCode: 200,
        data: [LONGEST, TOO_LONG, 65_000].map((length, index) => ({ id, ...row(index, length) })),
      })
    },
  )

  it('200: has the same rows and order as the whole list, in pages whose links repeat it', async () => {
    const whole = await get('/products?sort=-sku&limit=2')
    const short = await get('/products?sort=-sku&limit=2&attributes=short&include=meta')
    const skus = (answer: typeof whole) => expectBody(200, answer).data.map(({ sku }: { readonly sku: string }) => sku)
    expect(skus(short)).toEqual(skus(whole))
    expect(short.headers.link).toMatch(
      /^<\/products\?sort=-sku&limit=2&attributes=short&include=meta&cursor=[\w-]+>; rel="next", /,
    )
  })
})
