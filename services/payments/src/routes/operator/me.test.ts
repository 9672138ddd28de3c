import { UnverifiableTokenError } from '@trestle/operators/operator.ts'
import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../../test/bodies.ts'
import { jsonHeaders, refusalHeaders, temporaryHeaders } from '../../../test/headers.ts'
import { actorOf, operatorHeaders, testOperators } from '../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import { buildApp } from '../../app.ts'

const lines: Record<string, unknown>[] = []
let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators, onLog: (line) => lines.push(line) })
})
afterAll(() => payments.close())

const me = (headers: Record<string, string>) => payments.app.inject({ url: '/operator/me', headers })
const UNAUTHORIZED = {
  code: 'OPERATOR_UNAUTHORIZED',
  message: 'The operator key or the access token is missing, malformed or not good',
}

describe('GET /operator/me', () => {
  it.each(OPERATOR_ROLES)('200: tells an operator with the role %s who they are', async (role) => {
    const response = await me(operatorHeaders(role))
    expect(statusAndBody(response)).toEqual([200, { operator: { key: `desk-${role}`, role, actor: actorOf(role) } }])
    expect(response.headers).toEqual(jsonHeaders())
  })

  it('200: the lower role of key and user counts', async () => {
    const [byKey, byUser] = [
      await me(operatorHeaders('support', 'admin')),
      await me(operatorHeaders('admin', 'viewer')),
    ]
    const supporter = { key: 'desk-support', role: 'support', actor: actorOf('admin') }
    expect(statusAndBody(byKey)).toEqual([200, { operator: supporter }])
    const viewer = { key: 'desk-admin', role: 'viewer', actor: actorOf('viewer') }
    expect(statusAndBody(byUser)).toEqual([200, { operator: viewer }])
  })

  const { 'x-trestle-operator-key': key = '', authorization = '' } = operatorHeaders('admin')
  it.each<[string, Record<string, string>]>([
    ['a key without a token', { 'x-trestle-operator-key': key }],
    ['a token without a key', { authorization }],
    ['an unknown key', { authorization, 'x-trestle-operator-key': `${key}-` }],
    ['the token of a user without a role', { 'x-trestle-operator-key': key, authorization: 'Bearer nobody' }],
    ['no credentials', {}],
  ])('401: refuses %s, and never says which is wrong', async (_case, headers) => {
    const response = await me(headers)
    expect(statusAndBody(response)).toEqual([401, UNAUTHORIZED])
    const challenge = { 'www-authenticate': 'Bearer realm="payments"' }
    expect(response.headers).toEqual(refusalHeaders('OPERATOR_UNAUTHORIZED', challenge))
  })

  it('401: refuses the API key of an app', async () => {
    const { app } = (await payments.app.inject({ method: 'POST', url: '/apps' })).json()
    const basic = `Basic ${Buffer.from(`:${app.key}`).toString('base64')}`
    expect(statusAndBody(await me({ authorization: basic }))).toEqual([401, UNAUTHORIZED])
  })

  it('404: is unknown where the service has no operator keys', async () => {
    const without = await buildApp({ ...payments.deps, operators: undefined })
    const response = await without.inject({ url: '/operator/me', headers: operatorHeaders('admin') })
    expect(statusAndBody(response)).toEqual([404, { code: 'ENDPOINT_NOT_FOUND', message: 'There is no such endpoint' }])
    await without.close()
  })

  it('503: is refused for a while when no key of auth can be read', async () => {
    const verifyToken = () => Promise.reject(new UnverifiableTokenError('no key can be read'))
    const away = await buildApp({ ...payments.deps, operators: { ...testOperators, verifyToken } })
    const response = await away.inject({ url: '/operator/me', headers: operatorHeaders('admin') })
    const body = { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer now' }
    expect(statusAndBody(response)).toEqual([503, body])
    expect(response.headers).toEqual(temporaryHeaders('SERVICE_UNAVAILABLE'))
    await away.close()
  })

  it('200: names the operator in the log line, and neither key nor token', async () => {
    lines.length = 0
    const { statusCode, body } = await me(operatorHeaders('support'))
    expect([statusCode, body]).toEqual([200, expect.stringContaining(actorOf('support').id)])
    expect(lines).toEqual([
      {
        ...{ level: 30, msg: 'request', method: 'GET', path: '/operator/me', route: '/operator/me', status: 200 },
        ...{ time: expect.any(Number), duration_ms: expect.any(Number), request_id: expect.any(String) },
        ...{ operator_id: actorOf('support').id, operator_key: 'desk-support' },
      },
    ])
  })
})

describe('failed authentications of operators', () => {
  let limited: TestPayments
  beforeAll(async () => {
    limited = await startPayments({ operators: testOperators, rateLimits: { failuresPerMinute: 1 } })
  })
  afterAll(() => limited.close())
  const ask = async (headers: Record<string, string>) =>
    (await limited.app.inject({ url: '/operator/me', headers })).statusCode

  it('429: are limited for each address, while good credentials still pass', async () => {
    const bad = { authorization: 'Bearer admin' }
    expect([await ask(bad), await ask(bad), await ask(operatorHeaders('admin'))]).toEqual([401, 429, 200])
  })

  it('429: count for the browser that a console names, and not for the console', async () => {
    const ended = (address: string) => ({
      ...operatorHeaders('admin'),
      authorization: 'Bearer ended',
      'x-trestle-operator-address': address,
    })
    expect([await ask(ended('192.0.2.1')), await ask(ended('192.0.2.1'))]).toEqual([401, 429])
    expect(await ask(ended('192.0.2.2'))).toBe(401)
  })

  it('429: count apart from a client at the address that a console names', async () => {
    const named = {
      ...operatorHeaders('admin'),
      authorization: 'Bearer ended',
      'x-trestle-operator-address': '192.0.2.3',
    }
    expect([await ask(named), await ask(named)]).toEqual([401, 429])
    const client = await limited.app.inject({ url: '/me', remoteAddress: '192.0.2.3' })
    expect(statusAndBody(client)).toEqual([
      401,
      { code: 'UNAUTHORIZED', message: 'The API key is missing, malformed, unknown or revoked' },
    ])
  })
})
