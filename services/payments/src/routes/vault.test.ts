import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies, statusAndBody } from '../../test/bodies.ts'
import { browse, tokenize } from '../../test/customer.ts'
import { CHECKOUT_CORS, jsonHeaders, refusalHeaders } from '../../test/headers.ts'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'
import { decryptToken } from '../vault/card-token.ts'

let payments: TestPayments
const lines: object[] = []
beforeAll(async () => {
  payments = await startPayments({ onLog: (line) => lines.push(line) })
})
afterAll(() => payments.close())

const vault = (payload: object, headers: object = {}) =>
  payments.app.inject({ method: 'POST', url: '/vault', headers: { 'accept-version': '1', ...headers }, payload })

describe('POST /vault', () => {
  it('201: answers a new token each time, which reveals neither the value nor its length', async () => {
    const response = await vault({ type: 'pcn', value: '1000000000000000' })
    expect(response.statusCode).toBe(201)
    expect(response.headers).toEqual(jsonHeaders(CHECKOUT_CORS))
    expect(response.body).toMatch(/^\{"token":"[A-Za-z0-9+/]+=*"\}\n$/)
    const tokens = await Promise.all(
      ['1000000000', '1000000000000000', '1000000000000000', '1000000000000000000'].map((number) =>
        tokenize(browse(payments), 'pcn', number),
      ),
    )
    expect(new Set(tokens).size).toBe(4)
    expect(
      new Set([...tokens, await tokenize(browse(payments), 'pcsc', '123')].map((token) => token.length)).size,
    ).toBe(1)
    expect(Buffer.from(tokens[1] ?? '', 'base64').toString('latin1')).not.toContain('100000')
    expect(decryptToken(payments.deps.ciphers.tokens, tokens[1] ?? '', 'pcn')).toEqual({
      verdict: 'opened',
      token: { value: '1000000000000000', jti: expect.any(String), expires: expect.any(Date) },
    })
    expect(JSON.stringify(lines)).not.toContain('1000000000000000')
  })

  it.each([
    [{}, 'type is required'],
    [{ type: 'pcn' }, 'value is required'],
    [{ type: 'pan', value: '1000000000000000' }, 'type is not valid'],
    [{ type: 'pcn', value: 1_000_000_000_000_000 }, 'value must be a string'],
    [{ type: 'pcn', value: '1000 0000 0000 0000' }, 'value is not valid'],
    [{ type: 'pcn', value: '100000000' }, 'value is not valid'],
    [{ type: 'pcn', value: '1'.repeat(20) }, 'value is not valid'],
    [{ type: 'pcsc', value: '12' }, 'value is not valid'],
    [{ type: 'pcsc', value: '1234' }, 'value is not valid'],
    [{ type: 'pcsc', value: 123 }, 'value must be a string'],
  ])('400: REQUEST_INVALID for %j', async (payload, message) => {
    const { status, headers, body } = await browse(payments).send('/vault', payload)
    expect([status, body]).toEqual([400, { code: 'REQUEST_INVALID', message }])
    expect(headers).toEqual(refusalHeaders('REQUEST_INVALID', CHECKOUT_CORS))
  })

  it('400: judges the version first, then the media type', async () => {
    const answers = [
      await payments.app.inject({ method: 'POST', url: '/vault', payload: '{' }),
      await vault({}, { 'accept-version': '2' }),
      await payments.app.inject({ method: 'POST', url: '/vault', headers: { 'accept-version': '1' } }),
      await vault({}, { 'content-type': 'application/x-www-form-urlencoded' }),
      await vault({}, { 'content-type': 'application/vnd.api+json' }),
      ...(await Promise.all(
        ['{', '[]', '"a"', '{"__proto__":1}'].map((payload) =>
          payments.app.inject({
            method: 'POST',
            url: '/vault',
            payload,
            headers: { 'accept-version': '1', 'content-type': 'application/json' },
          }),
        ),
      )),
    ]
    expect(answers.map(statusAndBody)).toEqual([
      [400, { code: 'VERSION_MISSING', message: 'The header Accept-Version is missing' }],
      [400, { code: 'VERSION_UNSUPPORTED', message: 'Accept-Version must be 1' }],
      ...Array(7).fill([400, { code: 'BODY_INVALID', message: 'The body must be JSON, sent as application/json' }]),
    ])
    for (const answer of answers) expect(answer.headers).toEqual(refusalHeaders(answer.json().code, CHECKOUT_CORS))
  })

  it('413: refuses a body above 4 KiB', async () => {
    const response = await vault({ type: 'pcn', value: '1'.repeat(4_096) })
    expect(statusAndBody(response)).toEqual([413, { code: 'PAYLOAD_TOO_LARGE', message: 'The body is too large' }])
  })

  // ASVS 3.4.2
  it('204: lets any page call the checkout, and no page the main API', async () => {
    const preflight = (url: string) => payments.app.inject({ method: 'OPTIONS', url })
    for (const url of ['/vault', '/payments', '/payments/challenges/tds-challenge/poll']) {
      const response = await preflight(url)
      expect([response.statusCode, response.body]).toEqual([204, ''])
      const none = { 'content-type': undefined, 'content-length': undefined }
      expect(response.headers).toEqual(jsonHeaders({ ...CHECKOUT_CORS, ...none }))
    }
    // The service ignores the body of a preflight request.
    const odd = await payments.app.inject({ method: 'OPTIONS', url: '/vault', payload: '"yes"' })
    expect([odd.statusCode, odd.body]).toEqual([204, ''])
    const other = await preflight('/merchants')
    expect(statusAndBody(other)).toEqual([404, errorBodies.endpointNotFound])
    expect(other.headers).toEqual(refusalHeaders('ENDPOINT_NOT_FOUND'))
  })

  it('429: refuses beyond the rate of an address', async () => {
    const limited = await startPayments({ rateLimits: { checkoutsPerSecond: 1 } })
    const ask = () => browse(limited).send('/vault', { type: 'pcsc', value: '123' })
    const answers = [await ask(), await ask(), await ask(), await ask()]
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429])
    expect(answers[3]?.body).toEqual({ code: 'RATE_LIMITED', message: 'Too many requests' })
    expect(answers[3]?.headers).toEqual(refusalHeaders('RATE_LIMITED', { ...CHECKOUT_CORS, 'retry-after': '3' }))
    await limited.close()
  })
})
