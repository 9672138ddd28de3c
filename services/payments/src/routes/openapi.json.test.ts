import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import committed from '../../../../docs/openapi/payments.json' with { type: 'json' }
import { startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

describe('GET /openapi.json', () => {
  it('200: names once what the answer depends on', async () => {
    const { statusCode, headers } = await payments.app.inject('/openapi.json')
    expect([statusCode, headers.vary]).toEqual([200, 'accept-encoding'])
  })

  it('200: serves the document that the repository contains', async () => {
    const response = await payments.app.inject('/openapi.json')
    expect([response.statusCode, response.json()]).toEqual([200, committed])
  })

  it('304: does not send the document again to a client that has it compressed', async () => {
    const headers = { 'accept-encoding': 'gzip, br' }
    const first = await payments.app.inject({ url: '/openapi.json', headers })
    expect([first.headers['cache-control'], first.headers['content-encoding']]).toEqual(['no-cache', 'br'])
    const again = { ...headers, 'if-none-match': String(first.headers.etag) }
    const second = await payments.app.inject({ url: '/openapi.json', headers: again })
    expect([second.statusCode, second.body]).toEqual([304, ''])
    const { parameters, responses } = committed.paths['/openapi.json'].get
    expect(parameters.map(({ name }) => name)).toEqual(['If-None-Match'])
    expect(Object.keys(responses[304].headers)).toEqual(['X-Request-Id', 'ETag'])
    expect(['x-request-id', 'etag'].filter((name) => name in second.headers)).toEqual(['x-request-id', 'etag'])
  })
})
