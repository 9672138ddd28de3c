import { once } from 'node:events'
import { request as nodeRequest } from 'node:http'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, importReport, invalidBody, refusedBody } from '../../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory } from '../../../test/inventory-app.ts'
import { SCOPES } from '../../access/actor.ts'
import { Slots } from '../../rate-limits/concurrency-limits.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_IMPORT_MAX_BYTES: '3000000' })
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => inventory.close())
beforeEach(async () => {
  await inventory.query('DELETE FROM inventory.products')
})

const post = (payload: string | Buffer, query = '', headers: Readonly<Record<string, string>> = {}) =>
  inventory.app.inject({
    method: 'POST',
    url: `/products/import${query}`,
    headers: { 'content-type': 'text/csv', ...headers },
    payload,
  })
const NDJSON = { 'content-type': 'application/x-ndjson' }
const LINES = { accept: 'application/x-ndjson' }

/** The complete answer of a finished import. */
const reportBody = (counts: Parameters<typeof importReport>[0]) => ({ statusCode: 200, data: importReport(counts) })

const stored = async () =>
  (await inventory.query(`SELECT sku, attributes::text, version FROM inventory.products ORDER BY id`)).map(
    ({ sku, attributes, version }) => [sku, attributes, version],
  )

const existing = (line: number, sku: string) => ({
  line,
  sku,
  type: 'CONFLICT',
  description: 'A product with this sku already exists.',
})

describe('POST /products/import, CSV', () => {
  it('200: reads a column of JSON, with a BOM, CRLF, quotes and line breaks', async () => {
    const csv =
      '\ufeffid,sku,attributes\r\n7,A,"{""n"":0.10}"\r\n,"B ""b"", c","{\r\n""big"":12345678901234567890}"\r\n'
    const response = await post(csv)
    expect(envelopeOf(response)).toEqual(reportBody({ received: 2, created: 2 }))
    expect(await stored()).toEqual([
      ['A', '{"n": 0.10}', 1],
      ['B "b", c', '{"big": 12345678901234567890}', 1],
    ])
  })

  it('200: reads columns of attributes as JSON or text, and skips empty cells', async () => {
    const csv =
      'attributes.size,sku,attributes.dim.w,"attributes.""a.b""",attributes.dim.h\n42,A,1.50,true,\n"4 2",B,,"""q""",x\n,C,,,\n'
    expect(envelopeOf(await post(csv))).toEqual(reportBody({ received: 3, created: 3 }))
    expect(await stored()).toEqual([
      ['A', '{"a.b": true, "dim": {"w": 1.50}, "size": 42}', 1],
      ['B', '{"a.b": "q", "dim": {"h": "x"}, "size": "4 2"}', 1],
      ['C', '{}', 1],
    ])
  })

  it('200: a bad row fails alone, and is reported with its line', async () => {
    const csv = 'sku,attributes\nA,{}\n"A\n",{}\nB\nC,{bad\nD,null\nE"e,{}\n"F","{}"\n'
    const body = envelopeOf(await post(csv))
    expect(body).toEqual(
      reportBody({
        received: 7,
        created: 2,
        failed: 5,
        errors: [
          { line: 3, sku: 'A\n', type: 'VALIDATION_ERROR', description: 'sku: must not hold control characters' },
          { line: 5, sku: null, type: 'BAD_REQUEST', description: 'The record has 1 fields, the header has 2.' },
          { line: 6, sku: 'C', type: 'VALIDATION_ERROR', description: 'attributes: must be JSON' },
          { line: 7, sku: 'D', type: 'VALIDATION_ERROR', description: 'attributes: must not be null' },
          { line: 8, sku: null, type: 'BAD_REQUEST', description: 'The record has misplaced quotes.' },
        ],
      }),
    )
    expect((await stored()).map(([sku]) => sku)).toEqual(['A', 'F'])
  })

  // ASVS 5.2.2
  it.each([
    ['', 'The file has no header.'],
    ['attributes\n{}\n', 'The file has no column sku.'],
    ['sku\nA\n', 'The file must have a column attributes, or columns such as attributes.color.'],
    ['sku,attributes,price\n', 'The column "price" (did you mean "attributes.price"?) is not known.'],
    ['sku,sku,attributes\n', 'The file has the column "sku" twice.'],
    ['sku,attributes.a,attributes.a.b\n', 'The file has the column "a" twice.'],
    ['sku,attributes.a,"attributes.""a"""\n', 'The file has the column "a" twice.'],
    ['sku,attributes.\n', 'The column "attributes." is not known.'],
    ['"sku,attributes\n', 'The header of the file has misplaced quotes.'],
  ])('400: refuses the file %j', async (csv, description) => {
    const expected = refusedBody(400, 'BAD_REQUEST', description, { report: importReport({ received: 0, line: 1 }) })
    expect(envelopeOf(await post(csv))).toEqual(expected)
    expect(envelopeOf(await post(csv, '', LINES))).toEqual(expected)
  })

  // ASVS 5.2.2
  it('400: refuses bytes that are not UTF-8', async () => {
    const response = await post(Buffer.concat([Buffer.from('sku,attributes\n'), Buffer.from([0xff, 0x0a])]))
    const report = importReport({ received: 0, line: 2 })
    expect(envelopeOf(response)).toEqual(refusedBody(400, 'BAD_REQUEST', 'The file is not UTF-8.', { report }))
  })
})

describe('POST /products/import, NDJSON', () => {
  it('200: reads a product from each line, in every form of attributes', async () => {
    const lines = [
      '{"sku":"A","attributes":{"n":0.10}}',
      '',
      '{"id":5,"sku":"B","attributes":"[1e2]"}\r',
      '{"sku":"C","attributes":"5"}',
      '{"sku":"D","attributes":5}',
      '{"sku":"E"}',
      '{"sku":"F","attributes":{},"x":1}',
      '[1]',
      '{broken',
      '{"sku":"G","attributes":{"__proto__":1}}',
      '{"sku":"\\u00e4","attributes":[]}',
    ]
    const body = envelopeOf(await post(lines.join('\n'), '', NDJSON))
    expect(body).toEqual(
      reportBody({
        received: 10,
        created: 4,
        failed: 6,
        errors: [
          {
            line: 5,
            sku: 'D',
            type: 'VALIDATION_ERROR',
            description: 'attributes: must be a text that is JSON, an object or an array',
          },
          { line: 6, sku: 'E', type: 'VALIDATION_ERROR', description: 'attributes: is required' },
          { line: 7, sku: 'F', type: 'VALIDATION_ERROR', description: 'x: is not known here' },
          { line: 8, sku: null, type: 'BAD_REQUEST', description: 'The line must be a JSON object.' },
          { line: 9, sku: null, type: 'BAD_REQUEST', description: 'The line is not JSON.' },
          {
            line: 10,
            sku: 'G',
            type: 'VALIDATION_ERROR',
            description:
              'attributes: must not have a key "__proto__", or a key "constructor" whose value has a key "prototype"',
          },
        ],
      }),
    )
    expect(await stored()).toEqual([
      ['A', '{"n": 0.10}', 1],
      ['B', '[100]', 1],
      ['C', '5', 1],
      ['ä', '[]', 1],
    ])
  })

  it('200: imports nothing from an empty file', async () => {
    expect(envelopeOf(await post('\n\n', '', NDJSON))).toEqual(reportBody({ received: 0 }))
  })
})

describe('mode', () => {
  const file = 'sku,attributes\nA,"{""n"":2}"\nB,{}\nB,[1]\n'
  beforeEach(() => post('sku,attributes\nA,"{""n"":1}"\n'))

  it('200: insert fails only the rows with a taken or repeated SKU', async () => {
    const body = envelopeOf(await post(file))
    expect(body).toEqual(
      reportBody({
        received: 3,
        created: 1,
        failed: 2,
        errors: [existing(2, 'A'), existing(4, 'B')],
      }),
    )
    expect(await stored()).toEqual([
      ['A', '{"n": 1}', 1],
      ['B', '{}', 1],
    ])
  })

  it('200: skip counts a product with a taken SKU, and leaves it as it is', async () => {
    expect(envelopeOf(await post(file, '?mode=skip'))).toEqual(reportBody({ received: 3, created: 1, skipped: 2 }))
    expect(await stored()).toEqual([
      ['A', '{"n": 1}', 1],
      ['B', '{}', 1],
    ])
  })

  it('200: upsert gives an existing product other attributes and the next version', async () => {
    expect(envelopeOf(await post(file, '?mode=upsert'))).toEqual(reportBody({ received: 3, created: 1, updated: 2 }))
    const after = [
      ['A', '{"n": 2}', 2],
      ['B', '[1]', 1],
    ]
    expect(await stored()).toEqual(after)
    const again = 'sku,attributes\nA,"{""n"":2}"\nB,[1]\n'
    expect(envelopeOf(await post(again, '?mode=upsert'))).toEqual(reportBody({ received: 2, skipped: 2 }))
    expect(await stored()).toEqual(after)
  })

  it('200: dryRun reports everything, and stores nothing', async () => {
    expect(envelopeOf(await post(file, '?mode=upsert&dryRun=true'))).toEqual(
      reportBody({ received: 3, created: 1, updated: 2 }),
    )
    expect(envelopeOf(await post(file, '?dryRun=true'))).toEqual(
      reportBody({ received: 3, created: 1, failed: 2, errors: [existing(2, 'A'), existing(4, 'B')] }),
    )
    expect(await stored()).toEqual([['A', '{"n": 1}', 1]])
  })

  it('400: atomic stores nothing, and reports each record that could not be stored', async () => {
    const refused = await post(file, '?atomic=true')
    expect(envelopeOf(refused)).toEqual({
      statusCode: 400,
      error: {
        type: 'VALIDATION_ERROR',
        description: 'Nothing was stored, because not every record could be.',
        report: importReport({ received: 3, created: 1, failed: 2, errors: [existing(2, 'A'), existing(4, 'B')] }),
      },
    })
    expect(await stored()).toEqual([['A', '{"n": 1}', 1]])
  })

  it('200: atomic stores all products when each of them can be', async () => {
    expect(envelopeOf(await post(file, '?atomic=true&mode=skip'))).toEqual(
      reportBody({ received: 3, created: 1, skipped: 2 }),
    )
    expect(await stored()).toHaveLength(2)
  })

  it.each<[string, string, string]>([
    ['mode=replace', 'mode', 'must be one of insert, upsert, skip'],
    ['atomic=maybe', 'atomic', 'must be true or false'],
    ['dryRun=maybe', 'dryRun', 'must be true or false'],
    ['limit=1', 'limit', 'is not known here'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect(envelopeOf(await post(file, `?${query}`))).toEqual(invalidBody(path, message))
  })
})

describe('many rows', () => {
  const rows = (count: number) => `sku,attributes\n${Array.from({ length: count }, (_, n) => `R-${n},{}\n`).join('')}`

  it('200: stores many rows, with ids in the order of the file', async () => {
    expect(envelopeOf(await post(rows(2_345)))).toEqual(reportBody({ received: 2_345, created: 2_345 }))
    expect((await stored()).map(([sku]) => sku)).toEqual(Array.from({ length: 2_345 }, (_, n) => `R-${n}`))
  })

  it('200: reports each batch, then the end, with Accept: application/x-ndjson', async () => {
    const response = await post(`${rows(1_200)}\nR-3,{}\n`, '', LINES)
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    const lines = response.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ type }) => type)).toEqual(['progress', 'progress', 'error', 'progress', 'summary'])
    expect(lines[0]).toEqual({ type: 'progress', received: 500 })
    const { line, sku, ...error } = existing(1_203, 'R-3')
    expect(lines[2]).toEqual({ type: 'error', line, sku, error })
    expect(lines.at(-1)).toEqual(
      importReport({
        received: 1_201,
        created: 1_200,
        failed: 1,
        errors: [{ line: 1_203, sku: 'R-3', type: 'CONFLICT', description: 'A product with this sku already exists.' }],
        type: 'summary',
      }),
    )
  })

  /** Sends a file, and the rest of it after the answer has begun. Resolves to the last line of the answer. */
  const lastLineOf = async (first: string, getRest: () => Promise<string>, more = {}): Promise<unknown> => {
    const port = portOf(inventory.app.server)
    const headers = { 'content-type': 'text/csv', 'transfer-encoding': 'chunked', ...LINES, ...more }
    let status: number | undefined
    const body = await new Promise<string>((resolve, reject) => {
      const pieces: Buffer[] = []
      const request = nodeRequest(
        { host: '127.0.0.1', port, method: 'POST', path: '/products/import', headers },
        (response) => {
          status = response.statusCode
          response.once('data', () => getRest().then((rest) => request.end(rest), reject))
          response.on('data', (piece) => pieces.push(piece))
          response.on('end', () => resolve(Buffer.concat(pieces).toString()))
        },
      )
      request.on('error', reject)
      request.write(first)
    })
    expect(status).toBe(200)
    return JSON.parse(body.trimEnd().split('\n').at(-1) ?? '')
  }

  it('200: reports a late fault in the last line', async () => {
    const last = await lastLineOf(rows(1_200), async () => `"${'x'.repeat(1_100_000)}`)
    expect(last).toEqual({
      type: 'fatal',
      error: { type: 'PAYLOAD_TOO_LARGE', description: expect.any(String) },
      ...importReport({ received: 1_200, created: 1_200, line: 1_202 }),
    })
    expect(await stored()).toHaveLength(1_200)
  })

  it('200: a product that only PostgreSQL refuses fails alone', async () => {
    await inventory.query(`ALTER TABLE inventory.products ADD CONSTRAINT no_r_1 CHECK (sku <> 'R-1')`)
    const body = envelopeOf(await post(rows(3)))
    await inventory.query('ALTER TABLE inventory.products DROP CONSTRAINT no_r_1')
    const description = 'The product could not be stored.'
    const errors = [{ line: 3, sku: 'R-1', type: 'SERVER_ERROR', description }]
    expect(body).toEqual(reportBody({ received: 3, created: 2, failed: 1, errors }))
    expect(await stored()).toHaveLength(2)
  })

  it('500: logs a defect of the database, and does not blame the products', async () => {
    await inventory.query('ALTER TABLE inventory.products RENAME COLUMN sku TO renamed')
    const response = await post(rows(3))
    await inventory.query('ALTER TABLE inventory.products RENAME COLUMN renamed TO sku')
    const text = 'An internal error has occurred while processing your request.'
    const report = importReport({ received: 0 })
    expect(envelopeOf(response)).toEqual(refusedBody(500, 'SERVER_ERROR', text, { report }))
    const breakDown = async () => {
      await inventory.query('ALTER TABLE inventory.products RENAME COLUMN sku TO renamed')
      return rows(700)
    }
    const last = await lastLineOf(rows(500), breakDown, { 'x-request-id': 'broken-down' })
    await inventory.query('ALTER TABLE inventory.products RENAME COLUMN renamed TO sku')
    expect(last).toEqual({
      type: 'fatal',
      error: { type: 'SERVER_ERROR', description: expect.any(String) },
      ...importReport({ received: 500, created: 500 }),
    })
    const lines = (await inventory.logLines()).filter(({ request_id }) => request_id === 'broken-down')
    const { level, err, error_code } = lines[0] ?? {}
    expect([level, error_code]).toEqual(['error', 'SERVER_ERROR'])
    expect(err).toHaveProperty('stack')
  })

  it('200: reports at most 100 errors, and counts all', async () => {
    const description = 'The record has 1 fields, the header has 2.'
    const errors = Array.from({ length: 100 }, (_, at) => ({
      line: at + 2,
      sku: null,
      type: 'BAD_REQUEST',
      description,
    }))
    expect(envelopeOf(await post(`sku,attributes\n${'x\n'.repeat(1_500)}`))).toEqual(
      reportBody({ received: 1_500, failed: 1_500, errors }),
    )
  })

  it('200: keeps the stored batches when the client leaves', async () => {
    const headers = { 'content-type': 'text/csv', 'transfer-encoding': 'chunked', accept: 'application/x-ndjson' }
    const begun = await new Promise<readonly unknown[]>((resolve, reject) => {
      const request = nodeRequest(
        { host: '127.0.0.1', port: portOf(inventory.app.server), method: 'POST', path: '/products/import', headers },
        (response) => {
          response.on('error', () => {})
          response.once('data', (body: Buffer) => {
            request.destroy()
            resolve([response.statusCode, body.toString()])
          })
        },
      )
      request.on('error', reject)
      request.write(rows(600))
    })
    expect(begun).toEqual([200, '{"type":"progress","received":500}\n'])
    expect(await stored()).toHaveLength(500)
    // The slot is free again. A client may have only eight at the same time, but nine imports run one after the other.
    for (let n = 0; n < 9; n++) expect((await post(rows(1), '?mode=skip')).statusCode).toBe(200)
  })
})

it('200: takes no slot when the client has left before the import begins', async () => {
  const gone = Promise.withResolvers<void>()
  const verify = async () => {
    await gone.promise
    return { actor: 'client', scopes: new Set(SCOPES) }
  }
  const replica = await startReplica(
    inventory.databaseUrl,
    {},
    { tokenVerifier: { verify, countKeys: async () => 1 }, imports: new Slots({ all: 4, each: 4 }) },
  )
  await replica.app.listen({ host: '127.0.0.1', port: 0 })
  const port = portOf(replica.app.server)
  const own = { ...NDJSON, authorization: 'Bearer x' }
  for (let n = 0; n < 4; n++) {
    const headers = { ...own, ...LINES }
    const client = nodeRequest({ host: '127.0.0.1', port, method: 'POST', path: '/products/import', headers })
    client.on('error', () => {})
    client.flushHeaders()
    const [, response] = await once(replica.app.server, 'request')
    client.destroy()
    await once(response, 'close')
  }
  gone.resolve()
  const answer = await replica.app.inject({ method: 'POST', url: '/products/import', headers: own, payload: '' })
  expect(envelopeOf(answer)).toEqual(reportBody({ received: 0 }))
  await replica.close()
})

it('200: frees its slot when the client leaves without reading', async () => {
  const replica = await startReplica(inventory.databaseUrl, {}, { imports: new Slots({ all: 1, each: 1 }) })
  await replica.app.listen({ host: '127.0.0.1', port: 0 })
  const port = portOf(replica.app.server)
  const headers = { 'content-type': 'text/csv', ...LINES }
  for (let n = 0; n < 2; n++) {
    const client = nodeRequest({ host: '127.0.0.1', port, method: 'POST', path: '/products/import', headers })
    client.on('error', () => {})
    client.on('response', (response) => response.on('error', () => {}))
    client.end(`sku,attributes\n${'x\n'.repeat(300_000)}`)
    const [, response] = await once(replica.app.server, 'request')
    // The server sends megabytes of errors, and the client reads none of them.
    await expect.poll(() => response.writableNeedDrain, { timeout: 60_000 }).toBe(true)
    const options = { method: 'POST', url: '/products/import', headers: NDJSON, payload: '' } as const
    const next = async () => (await replica.app.inject(options)).statusCode
    const busy = 'Too many imports, exports, long pages or large bodies are open at the moment.'
    expect((await replica.app.inject(options)).json()).toEqual(refusedBody(503, 'SERVER_BUSY', busy))
    client.destroy()
    await once(response, 'close')
    await expect.poll(next, { timeout: 60_000 }).toBe(200)
  }
  await replica.close()
})

describe('limits', () => {
  it.each([
    ['application/json', '{}'],
    ['', 'sku,attributes\n'],
    ['text/plain', 'sku,attributes\n'],
  ])('415: refuses a file with the headers %j', async (type, payload) => {
    expect(envelopeOf(await post(payload, '', { 'content-type': type }))).toEqual({
      statusCode: 415,
      error: {
        type: 'UNSUPPORTED_MEDIA_TYPE',
        description: 'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
      },
    })
  })

  // ASVS 5.2.2
  it.each([
    [415, { 'content-type': 'text/csv; charset=iso-8859-1' }],
    [415, { 'content-type': 'text/csv;header=present; charset="windows-1252"' }],
    [415, { 'content-type': 'application/x-ndjson;charset=utf-16' }],
    [415, { 'content-encoding': 'gzip' }],
    [415, { 'content-encoding': 'identity, br' }],
    [200, { 'content-type': 'text/csv; charset="UTF-8"; header=present', 'content-encoding': 'Identity' }],
    [200, { 'content-type': 'TEXT/CSV ;header=present;charset=us-ascii' }],
  ])('%i: answers a file with the headers %j', async (status, headers) => {
    const response = await post('sku,attributes\n', '', headers)
    expect(response.statusCode).toBe(status)
    if (status === 415) {
      const description = 'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.'
      expect(response.json()).toEqual({ statusCode: 415, error: { type: 'UNSUPPORTED_MEDIA_TYPE', description } })
    }
  })

  // ASVS 5.2.1
  it('413: refuses files, records and headers that are too large', async () => {
    const report = { report: importReport({ received: 0 }) }
    const large: readonly [string, string, object?][] = [
      [`sku,attributes\n${'x'.repeat(3_000_000)}`, 'The request body is too large.'],
      [`sku,attributes\n"${'x'.repeat(1_100_000)}`, 'The record on line 2 is longer than 1048576 characters.', report],
      [
        `sku,${Array.from({ length: 100 }, (_, n) => `attributes.a${n}`).join(',')}\n`,
        'The file has more than 100 columns.',
        report,
      ],
    ]
    for (const [payload, description, details] of large) {
      expect(envelopeOf(await post(payload))).toEqual(refusedBody(413, 'PAYLOAD_TOO_LARGE', description, details))
    }
    const line = `\n\n{"sku":"A","attributes":{"a":"${'x'.repeat(1_100_000)}"}}`
    expect(envelopeOf(await post(line, '', NDJSON))).toEqual(
      refusedBody(413, 'PAYLOAD_TOO_LARGE', 'The record on line 3 is longer than 1048576 characters.', {
        report: importReport({ received: 0, line: 3 }),
      }),
    )
  })

  it('405: refuses GET', async () => {
    const response = await inventory.app.inject({ url: '/products/import' })
    const refused = refusedBody(405, 'NOT_ALLOWED', 'The method is not allowed here.')
    expect([envelopeOf(response), response.headers.allow]).toEqual([refused, 'POST, OPTIONS'])
  })
})
