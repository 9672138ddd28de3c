import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBodies, statusAndBody } from '../../test/bodies.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { errorVocabulary } from '../error-body.ts'
import { requestTimeout, serviceUnavailable } from '../errors.ts'

let payments: TestPayments
let app: TestApp
let port: number
beforeAll(async () => {
  payments = await startPayments()
  const address = new URL(await payments.app.listen({ host: '127.0.0.1', port: 0 }))
  port = Number(address.port)
})
beforeEach(async () => {
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

/** Sends raw bytes and resolves to the bytes that arrive until the connection ends. */
function exchange(request: string): Promise<{ head: string; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('end', () => {
      const answer = Buffer.concat(chunks)
      const at = answer.indexOf('\r\n\r\n')
      resolve({ head: answer.subarray(0, at).toString('latin1'), body: answer.subarray(at + 4) })
    })
  })
}

const request = (line: string, headers: readonly string[] = [], body = '') =>
  exchange(
    [
      `${line} HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      `Authorization: ${app.headers.authorization}`,
      ...headers,
      '',
      body,
    ].join('\r\n'),
  )

describe('answers on the wire', () => {
  // ASVS 4.1.1, 14.2.2, 14.3.2
  it('200: writes one object as one line that ends in a newline', async () => {
    const { head, body } = await request('GET /me/')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(head).toMatch(/\r\ncontent-type: application\/json; charset=utf-8\r\n/)
    expect(head).toMatch(/\r\ncache-control: no-store\r\n/)
    expect(body.toString()).toMatch(/^\{"identity":\{"id":"[0-9a-f]{24}","created":"[^"]+"\}\}\n$/)
  })

  it('200: writes a list with one element a line', async () => {
    const path = `GET /identities/${app.id}/merchants?limit=3`
    expect((await request(path)).body.toString()).toBe('[\n]\n')
    const one = await createTestMerchant(payments, app)
    expect((await request(path)).body.toString()).toBe(`[\n${JSON.stringify(one)}\n]\n`)
    const two = await createTestMerchant(payments, app)
    expect((await request(path)).body.toString()).toBe(`[\n${JSON.stringify(two)},\n${JSON.stringify(one)}\n]\n`)
  })

  it('204: writes nothing after the head', async () => {
    const { id } = await createTestMerchant(payments, app)
    const put = await request(`PUT /merchants/${id}/`, ['Content-Type: application/json', 'Content-Length: 0'])
    expect(put.head).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
    expect(put.body.length).toBe(0)
  })

  it('400: writes the errors of fields as one line', async () => {
    const invalid = await request('POST /merchants', ['Content-Type: application/json', 'Content-Length: 0'])
    expect(invalid.head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    const fields = ['currency', 'email', 'website', 'descriptor', 'company.country']
    expect(invalid.body.toString()).toBe(
      `${JSON.stringify(fields.map((field) => ({ field, message: 'is required', code: 'REQUIRED' })))}\n`,
    )
  })

  it('404: writes an error as one line', async () => {
    const unknown = await request('GET /nothing')
    expect(unknown.head).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
    expect(unknown.head).toMatch(/\r\ncontent-type: application\/json; charset=utf-8\r\n/)
    expect(unknown.body.toString()).toBe('{"code":"ENDPOINT_NOT_FOUND","message":"There is no such endpoint"}\n')
  })

  it('200: compresses an answer for a client that accepts it', async () => {
    for (const _ of Array.from({ length: 3 })) await createTestMerchant(payments, app)
    const url = `/identities/${app.id}/merchants?limit=3`
    const plain = await payments.app.inject({ url, headers: app.headers })
    const zipped = await payments.app.inject({ url, headers: { ...app.headers, 'accept-encoding': 'gzip' } })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect([zipped.headers['content-encoding'], zipped.headers.vary]).toEqual(['gzip', 'accept-encoding'])
    // The whole response is compressed before it is sent, so that no compressor stays open for a slow client.
    expect(Number(zipped.headers['content-length'])).toBe(zipped.rawPayload.length)
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(plain.body)
  })

  it('200: repeats a well-formed request id, and replaces any other', async () => {
    expect((await request('GET /me', ['X-Request-Id: a.B_c-1'])).head).toMatch(/\r\nx-request-id: a\.B_c-1\r\n/)
    for (const bad of ['x'.repeat(65), 'a b', 'a/b']) {
      expect((await request('GET /me', [`X-Request-Id: ${bad}`])).head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    }
  })

  // ASVS 3.4.6
  it('404: refuses a path with broken percent-encoding, with all headers of an answer', async () => {
    const { head, body } = await request('GET /merchants/%')
    expect(head).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
    const type = 'content-type: application/json; charset=utf-8'
    const policy = "content-security-policy: default-src 'none'; frame-ancestors 'none'"
    const status = 'x-status-code: ENDPOINT_NOT_FOUND'
    for (const header of [type, policy, status, 'cache-control: no-store', 'x-request-id: ']) {
      expect(head).toContain(`\r\n${header}`)
    }
    expect(body.toString()).toBe('{"code":"ENDPOINT_NOT_FOUND","message":"There is no such endpoint"}\n')
  })

  it('400: refuses bytes that are no HTTP request, in the same layout', async () => {
    const { head, body } = await request('GET /me', ['Bad Header: x'])
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(body.toString()).toMatch(/^\[\{"field":"body",.*\}\]\n$/)
  })

  // ASVS 13.4.5
  it('404: hides the API document and its page where they are switched off', async () => {
    const silent = await startPayments({ docsEnabled: false })
    for (const url of ['/openapi.json', '/docs', '/docs/js/scalar.js']) {
      expect([url, ...statusAndBody(await silent.app.inject(url))]).toEqual([url, 404, errorBodies.endpointNotFound])
    }
    await silent.close()
  })
})

describe('a request that takes too long or has too long a URL', () => {
  it('408: blames the client when its body did not arrive', () => {
    expect(errorVocabulary.bodyTimedOut?.(new Error('slow'))).toEqual(requestTimeout())
  })

  it('503: blames the service for anything else that takes too long', () => {
    expect(errorVocabulary.timedOut(new Error('slow'))).toEqual(serviceUnavailable())
  })

  it('414: refuses a URL longer than 8 KiB, without naming a field of the body', async () => {
    const response = await payments.app.inject({ url: `/me?x=${'a'.repeat(9_000)}` })
    expect([response.statusCode, response.json()]).toEqual([
      414,
      { code: 'URI_TOO_LONG', message: 'The URL is longer than 8 KiB' },
    ])
    expect(response.headers['x-status-code']).toBe('URI_TOO_LONG')
  })

  it.each(['/me', '/nothing'])('414: ends the body with a newline, at %s', async (path) => {
    const response = await payments.app.inject({ url: `${path}?x=${'a'.repeat(9_000)}` })
    expect(response.body).toBe('{"code":"URI_TOO_LONG","message":"The URL is longer than 8 KiB"}\n')
  })
})
