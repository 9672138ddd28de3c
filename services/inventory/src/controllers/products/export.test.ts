import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, invalidBody, requestLine } from '../../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
  const lines = [
    { sku: 'A', attributes: '{"color":"red","n":0.10,"dim":{"w":2}}' },
    { sku: 'b,"b"', attributes: '{"color":"=1+1","note":null}' },
    { sku: '=C', attributes: '"text"' },
    { sku: 'D', attributes: '[1,"x\\ny"]' },
  ]
  const response = await inventory.app.inject({
    method: 'POST',
    url: '/products/import',
    headers: { 'content-type': 'application/x-ndjson' },
    payload: lines.map((line) => JSON.stringify(line)).join('\n'),
  })
  expect(response.json().data.created).toBe(4)
})
afterAll(() => inventory.close())

const get = (query = '', headers = {}) => inventory.app.inject({ url: `/products/export${query}`, headers })
const today = () => new Date().toISOString().slice(0, 10).replaceAll('-', '')

describe('GET /products/export', () => {
  // ASVS 1.2.3, 5.4.1
  it('200: writes NDJSON by default', async () => {
    const response = await get()
    expect(response.statusCode).toBe(200)
    expect([response.headers['content-type'], response.headers['content-disposition']]).toEqual([
      'application/x-ndjson; charset=utf-8',
      `attachment; filename="products-${today()}.ndjson"`,
    ])
    expect(response.body).toBe(
      `${[
        '{"id":1,"sku":"A","attributes":{"n": 0.10, "dim": {"w": 2}, "color": "red"}}',
        '{"id":2,"sku":"b,\\"b\\"","attributes":{"note": null, "color": "=1+1"}}',
        '{"id":3,"sku":"=C","attributes":"\\"text\\""}',
        '{"id":4,"sku":"D","attributes":[1, "x\\ny"]}',
      ].join('\n')}\n`,
    )
  })

  it('200: writes CSV with a row for each product', async () => {
    const response = await get('?format=csv')
    expect(response.statusCode).toBe(200)
    expect([response.headers['content-type'], response.headers['content-disposition']]).toEqual([
      'text/csv; charset=utf-8',
      `attachment; filename="products-${today()}.csv"`,
    ])
    expect(response.body).toBe(
      `${[
        'id,sku,attributes',
        '1,A,"{""n"": 0.10, ""dim"": {""w"": 2}, ""color"": ""red""}"',
        '2,"b,""b""","{""note"": null, ""color"": ""=1+1""}"',
        '3,=C,"""text"""',
        '4,D,"[1, ""x\\ny""]"',
      ].join('\r\n')}\r\n`,
    )
    expect((await get('', { accept: 'text/csv' })).body).toBe(response.body)
  })

  // ASVS 1.1.2
  it('200: gives values columns of their own, and guards cells against spreadsheets', async () => {
    const query = `?format=csv&flatten=color,dim.w,note&spreadsheetSafe=true`
    const { statusCode, body } = await get(query)
    expect(statusCode).toBe(200)
    expect(body).toBe(
      [
        'id,sku,attributes.color,attributes.dim.w,attributes.note,attributes',
        '1,A,red,2,,"{""n"": 0.10, ""dim"": {}}"',
        `2,"b,""b""",'=1+1,,null,`,
        `3,'=C,,,,"""text"""`,
        '4,D,,,,"[1, ""x\\ny""]"',
        '',
      ].join('\r\n'),
    )
  })

  it('200: exports the products that match, in the requested order', async () => {
    const { statusCode, body } = await get('?format=csv&attributes.color[exists]=true&sort=-id&flatten=color')
    expect(statusCode).toBe(200)
    expect(body.split('\r\n').map((line) => line.slice(0, 2))).toEqual(['id', '2,', '1,', ''])
    expect((await get('?sku=none')).body).toBe('')
    expect((await get('?sku=none&format=csv')).body).toBe('id,sku,attributes\r\n')
  })

  it('200: logs how many bytes were sent', async () => {
    const { statusCode, body } = await get('', { 'x-request-id': 'sized' })
    expect([statusCode, body]).toEqual([200, expect.stringContaining('"sku":"A"')])
    await expect
      .poll(async () => (await inventory.logLines()).filter(({ request_id }) => request_id === 'sized'))
      .toEqual([
        requestLine({
          request_id: 'sized',
          method: 'GET',
          path: '/products/export',
          route: '/products/export',
          bytes: Buffer.byteLength(body),
        }),
      ])
  })

  it('200: answers HEAD with the headers, and reads nothing', async () => {
    const response = await inventory.app.inject({ method: 'HEAD', url: '/products/export?format=csv' })
    expect([response.statusCode, response.body, response.headers['content-type']]).toEqual([
      200,
      '',
      'text/csv; charset=utf-8',
    ])
    for (let n = 0; n < 5; n++) await inventory.app.inject({ method: 'HEAD', url: '/products/export' })
    expect((await get()).statusCode).toBe(200)
  })

  it.each<[string, string, string]>([
    ['?format=xml', 'format', 'must be one of csv, ndjson'],
    ['?limit=1', 'limit', 'is not known here; the filter of an attribute would be attributes.limit'],
    ['?cursor=x', 'cursor', 'is not known here; the filter of an attribute would be attributes.cursor'],
    ['?attributes.=1', 'attributes.', 'must name at most eight keys, joined with dots'],
    ['?flatten=a', 'flatten', 'is for CSV'],
    ['?format=csv&flatten=a..b', 'flatten', 'must be keys joined with dots'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect(envelopeOf(await get(query))).toEqual(invalidBody(path, message))
  })

  it('406: refuses an Accept without CSV and NDJSON', async () => {
    expect(envelopeOf(await get('', { accept: 'application/xml' }))).toEqual({
      statusCode: 406,
      error: { type: 'NOT_ACCEPTABLE', description: 'Accept must allow text/csv or application/x-ndjson.' },
    })
  })
})
