import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, importReport, refusedBody, requestLine } from '../../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())
beforeEach(async () => {
  await inventory.query('DELETE FROM inventory.products')
})

const NDJSON = { 'content-type': 'application/x-ndjson' }
const post = (payload: string | Buffer, query = '', headers: Readonly<Record<string, string>> = {}) =>
  inventory.app.inject({
    method: 'POST',
    url: `/products/import${query}`,
    headers: { 'content-type': 'text/csv', ...headers },
    payload,
  })

/** The complete answer of a finished import. */
const reportBody = (counts: Parameters<typeof importReport>[0]) => ({ statusCode: 200, data: importReport(counts) })

const stored = async () =>
  (await inventory.query(`SELECT sku, attributes::text, version FROM inventory.products ORDER BY id`)).map(
    ({ sku, attributes, version }) => [sku, attributes, version],
  )

describe('an import that ends early', () => {
  const products = (count: number) => Array.from({ length: count }, (_, n) => `N-${n}`)
  const csvOf = (count: number) =>
    `sku,attributes\n${products(count)
      .map((sku) => `${sku},{}\n`)
      .join('')}`
  const linesOf = (count: number) =>
    products(count)
      .map((sku) => `{"sku":"${sku}","attributes":{}}\n`)
      .join('')
  const LATIN_1 = Buffer.from('caf\xe9', 'latin1')

  it.each([
    ['CSV', csvOf(600), {}, 602],
    ['NDJSON', linesOf(600), NDJSON, 601],
  ])('400: tells counts and line of %s with a bad byte, and logs them', async (format, start, headers, line) => {
    const counts = { received: 600, created: 600, line }
    const response = await post(Buffer.concat([Buffer.from(start), LATIN_1, Buffer.from(start)]), '', {
      ...headers,
      'x-request-id': `bad-${format}`,
    })
    const report = importReport(counts)
    expect(envelopeOf(response)).toEqual(refusedBody(400, 'BAD_REQUEST', 'The file is not UTF-8.', { report }))
    const [logged] = (await inventory.logLines()).filter(({ request_id }) => request_id === `bad-${format}`)
    expect(logged).toHaveProperty('verdict', 'broken-off')
    expect(logged).toHaveProperty('created', 600)
    expect(logged).toHaveProperty('line', line)
    expect(await stored()).toHaveLength(600)
  })

  it('200: counts and names each line that an open quote has swallowed', async () => {
    const csv = 'sku,attributes.a\nA,"12 inch\nB,x\nC,y\n'
    const description =
      'The record has misplaced quotes. The quote that opens on line 2 takes in everything up to line 4.'
    const errors = [{ line: 2, sku: null, type: 'BAD_REQUEST', description }]
    expect(envelopeOf(await post(csv))).toEqual(reportBody({ received: 3, failed: 3, line: 4, errors }))
  })

  it.each([
    ['an empty column at the end', 'sku,attributes.a,\nA,x,\n'],
    ['cells behind the last column', 'sku,attributes.a\nA,x,,\n'],
    ['rows of commas', ',,\nsku,attributes.a\n,\nA,x\n,\n'],
    ['a line for Excel', 'sep=;\nsku;attributes.a\nA;x\n'],
    ['a line for Excel that was saved again', 'sep=;;\nsku;attributes.a\nA;x\n'],
    ['a quoted line for Excel that was saved again', '"sep=,",\r\nsku,attributes.a\r\nA,x\r\n'],
    ['a line for Excel that was saved again with commas', 'sep=;,,\nsku,attributes.a,\nA,x,\n'],
    ['a line for Excel that was saved again with tabs', '"sep=;"\t\t\nsku\tattributes.a\nA\tx\n'],
    ['empty rows before a line for Excel', '\n,,\r\nsep=;\nsku;attributes.a\nA;x\n'],
    ['a line for Excel with a blank before the separator', 'sep= ;\nsku;attributes.a\nA;x\n'],
    ['a line for Excel with blanks behind it', ' sep=;  \nsku;attributes.a\nA;x\n'],
    ['a line for Excel that names a blank', 'sep= \nsku attributes.a\nA x\n'],
    ['a line for Excel that names a tab', '\uFEFFSEP=\t\nsku\tattributes.a\nA\tx\n'],
    ['semicolons and quotes', '"sku";"attributes.a"\r\n"A";"x"\r\n'],
    ['tabs', 'sku\tattributes.a\nA\tx\n'],
    ['CR as line end', 'sku,attributes.a\rA,x\r'],
  ])('200: reads a file with %s', async (_name, csv) => {
    expect(envelopeOf(await post(csv))).toEqual(reportBody({ received: 1, created: 1 }))
    expect(await stored()).toEqual([['A', '{"a": "x"}', 1]])
  })

  it('200: reads NDJSON whose lines end with CR', async () => {
    const lines = '{"sku":"A","attributes":[]}\r{"sku":"B","attributes":[]}\r'
    expect(envelopeOf(await post(lines, '', NDJSON))).toEqual(reportBody({ received: 2, created: 2, line: 2 }))
  })

  it.each([
    ['sep=;x', 'The columns "sep=", "x" (did you mean "attributes.x"?) are not known.'],
    ['Sep=ab', 'The column "Sep=ab" is not known.'],
  ])('400: means no attribute by the line %s, which names no separator', async (line, description) => {
    const report = importReport({ received: 0, line: 1 })
    const refused = refusedBody(400, 'BAD_REQUEST', description, { report })
    expect(envelopeOf(await post(`${line}\nsku,attributes.a\nA,x\n`))).toEqual(refused)
  })

  it('200: names the line of a record in a file with a line for Excel', async () => {
    const errors = [
      {
        line: 4,
        sku: null,
        type: 'BAD_REQUEST',
        description: 'The record has 3 fields, the header has 2.',
      },
    ]
    expect(envelopeOf(await post('\r\nsep=;;\r\nsku;attributes.a\r\nA;x;y\r\n'))).toEqual(
      reportBody({ received: 1, failed: 1, line: 4, errors }),
    )
  })

  it('400: names all columns that are not known', async () => {
    const description =
      'The columns "Title" (did you mean "attributes.Title"?), "stock" are not known. A file of products has no stock: POST /movements or the command inventory stock receive adds it.'
    const report = importReport({ received: 0, line: 1 })
    const refused = refusedBody(400, 'BAD_REQUEST', description, { report })
    expect(envelopeOf(await post('Title,sku,attributes.a,stock\nx,A,y,1\n'))).toEqual(refused)
  })

  it('200: stores cells by the type of their column', async () => {
    const csv = 'sku,attributes.mpn,attributes.ean:text,attributes.n:number\nE3,12E3,0123,12E3\n'
    expect(envelopeOf(await post(csv))).toEqual(reportBody({ received: 1, created: 1 }))
    expect(await stored()).toEqual([['E3', '{"n": 12000, "ean": "0123", "mpn": "12E3"}', 1]])
  })
})

it('200: logs a line with the counts of the import', async () => {
  expectBody(200, await post('sku,attributes\nA,{}\nA,{}\n', '', { 'x-request-id': 'imported' }))
  expect((await inventory.logLines()).filter((line) => line.request_id === 'imported')).toEqual([
    requestLine({
      request_id: 'imported',
      method: 'POST',
      path: '/products/import',
      route: '/products/import',
      event: 'import.finished',
      verdict: 'stored',
      received: 2,
      created: 1,
      updated: 0,
      skipped: 0,
      failed: 1,
      line: 3,
    }),
  ])
})
