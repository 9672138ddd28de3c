import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  answerUnreadable,
  consoleRefused,
  notSignedIn,
  objectNotFound,
  operatorForbidden,
  serviceRefused,
  serviceUnavailable,
  tooManyRequests,
  valuesInvalid,
} from '../errors.ts'
import {
  type Change,
  createOperatorCalls,
  enveloped,
  type OperatorCalls,
  OptionalId,
  productTag,
  RecordId,
} from './operator-calls.ts'
import { answerWith } from './service-call.ts'
import { createServiceClient } from './service-client.ts'

let service: StubProvider
let answer: StubAnswer | undefined
let calls: OperatorCalls
let asAdmin: OperatorCalls
beforeAll(async () => {
  service = await startStubProvider(() => answer)
  const client = createServiceClient({ auth: service.url, payments: service.url })
  const keys = {
    auth: new Map([
      ['support', 'key of support'],
      ['admin', 'key of admin'],
    ] as const),
    payments: new Map([['admin', 'key of admin']] as const),
  }
  const credentials = { role: 'support', accessToken: 'token of ada', address: '203.0.113.7' } as const
  calls = createOperatorCalls(client, keys, credentials)
  asAdmin = createOperatorCalls(client, keys, { ...credentials, role: 'admin' })
})
afterAll(() => service.close())
beforeEach(() => {
  answer = { body: {} }
})

const CREDENTIALS = {
  'x-trestle-operator-key': 'key of support',
  authorization: 'Bearer token of ada',
  'x-trestle-operator-address': '203.0.113.7',
  'x-supabase-api-version': '2024-01-01',
}
const OF_CONNECTION = ['host', 'connection', 'content-length', 'content-type']
const sentHeaders = () =>
  Object.fromEntries(
    Object.entries(service.requests.at(-1)?.headers ?? {}).filter(([name]) => !OF_CONNECTION.includes(name)),
  )
const ban: Change = {
  service: 'auth',
  method: 'PUT',
  path: '/operator/users/1/ban',
  body: { duration: '1h' },
  key: 'k',
}
const Users = z.object({ users: z.array(z.string()) })

describe('read', () => {
  it('carries the key of the role, and the token and the address of the operator', async () => {
    answer = { headers: { link: '</operator/users?cursor=c>; rel="next"', etag: '"1"' }, body: { users: ['ada'] } }
    const listed = await calls.read('auth', '/operator/users', Users, { search: 'ada' })
    expect([listed, service.requests.at(-1)?.url, sentHeaders()]).toEqual([
      { value: { users: ['ada'] }, next: 'c', etag: '"1"' },
      '/operator/users?search=ada',
      { ...CREDENTIALS, accept: 'application/json' },
    ])
  })

  it.each([
    [401, notSignedIn()],
    [403, operatorForbidden()],
    [404, objectNotFound()],
    [429, tooManyRequests()],
    [302, answerUnreadable({ service: 'auth' })],
    [400, serviceRefused({ message: 'Wrong' })],
    [500, serviceUnavailable({ service: 'auth' })],
  ])('refuses the status %i of a service as an error of the console', async (status, error) => {
    answer = { status, body: { code: 'x', message: 'Wrong' } }
    await expect(calls.read('auth', '/operator/users', Users)).rejects.toThrow(error)
  })

  it('rejects an answer that is not what the page shows', async () => {
    answer = { body: { users: [1] } }
    await expect(calls.read('auth', '/operator/users', Users)).rejects.toThrow(answerUnreadable({ service: 'auth' }))
  })

  it('503: ends no session where another service than auth refuses the operator', async () => {
    answer = { status: 401 }
    await expect(asAdmin.read('payments', '/operator/overview', Users)).rejects.toThrow(
      consoleRefused({ service: 'payments' }),
    )
    await expect(asAdmin.openFile('payments', '/file', {})).rejects.toThrow(consoleRefused({ service: 'payments' }))
    await expect(asAdmin.change({ ...ban, service: 'payments' })).rejects.toThrow(
      consoleRefused({ service: 'payments' }),
    )
  })

  it('404: calls no service that is not set up', async () => {
    const before = service.requests.length
    await expect(calls.read('inventory', '/products', Users)).rejects.toThrow(objectNotFound())
    expect([calls.has('inventory'), calls.has('payments'), service.requests.length]).toEqual([false, true, before])
  })

  it('403: calls no service for whose role the console has no key', async () => {
    const before = service.requests.length
    await expect(calls.read('payments', '/operator/me', Users)).rejects.toThrow(operatorForbidden())
    expect(service.requests.length).toBe(before)
  })
})

describe('openCsv', () => {
  it('asks for CSV, and gives it as it comes', async () => {
    answer = { headers: { 'content-type': 'text/csv' }, body: 'id,amount\r\n1,0.10\r\n' }
    const { bytes } = await calls.openCsv('auth', '/operator/users', {})
    let text = ''
    for await (const piece of bytes) text += Buffer.from(piece).toString()
    expect([text, sentHeaders()]).toEqual(['id,amount\r\n1,0.10\r\n', { ...CREDENTIALS, accept: 'text/csv' }])
  })
})

describe('openFile', () => {
  it.each([
    [401, notSignedIn()],
    [403, operatorForbidden()],
    [404, objectNotFound()],
    [429, tooManyRequests()],
  ])('refuses the status %i of a service as an error of the console', async (status, error) => {
    answer = { status }
    await expect(calls.openFile('auth', '/file', {})).rejects.toThrow(error)
  })
})

describe('change', () => {
  it.each([
    ['the key of the form', {}, { 'idempotency-key': 'k' }],
    ['the version of the form', { ifMatch: '"p7-1"' }, { 'idempotency-key': 'k', 'if-match': '"p7-1"' }],
    ['a weak version', { ifMatch: 'W/"7"' }, { 'idempotency-key': 'k', 'if-match': 'W/"7"' }],
    ['a key of 255 characters', { key: '~'.repeat(255) }, { 'idempotency-key': '~'.repeat(255) }],
  ])('carries %s', async (_what, more, expected) => {
    await calls.change({ ...ban, ...more })
    const { method, url, body } = service.requests.at(-1) ?? {}
    expect([method, url, body, sentHeaders()]).toEqual([
      'PUT',
      '/operator/users/1/ban',
      '{"duration":"1h"}',
      { ...CREDENTIALS, accept: 'application/json', ...expected },
    ])
  })

  it.each([
    ['no key', { key: '' }],
    ['a key of 256 characters', { key: '~'.repeat(256) }],
    ['a key with a space', { key: 'a b' }],
    ['a key with a line break', { key: 'k\r\nx: y' }],
    ['a key beyond ASCII', { key: 'ключ' }],
    ['any version', { ifMatch: '*' }],
    ['no version', { ifMatch: '' }],
    ['a version without quotes', { ifMatch: '1' }],
    ['two versions', { ifMatch: '"1", "2"' }],
    ['a version with a line break', { ifMatch: '"1"\r\nx: y' }],
    ['a version beyond ASCII', { ifMatch: '"☃"' }],
  ])('400: refuses %s as a form, and calls no service', async (_what, more) => {
    const before = service.requests.length
    await expect(calls.change({ ...ban, ...more })).rejects.toThrow(valuesInvalid())
    expect(service.requests.length).toBe(before)
  })

  it.each([
    ['a record', { status: 201, body: { id: 7 } }, { kind: 'done', body: { id: 7 } }],
    ['nothing', { status: 204, body: '' }, { kind: 'done', body: '' }],
  ])('is done when the service answers %s', async (_what, given, expected) => {
    answer = given
    expect(await calls.change(ban)).toEqual(expected)
  })

  it.each([400, 403, 409, 412, 422, 428])('is refused in the words of the service by the status %i', async (status) => {
    answer = { status, body: { code: 'x', message: 'The user is protected' } }
    expect(await calls.change(ban)).toEqual({ kind: 'refused', message: 'The user is protected' })
  })

  it.each([
    [409, { code: 'IDEMPOTENCY_KEY_REUSED', message: 'used' }],
    [409, { code: 'idempotency_key_reused', message: 'used' }],
    [422, { error: { type: 'VERIFICATION_ERROR', description: 'used' } }],
  ])('is refused with advice where the service says %i because the form was sent before: %j', async (status, body) => {
    answer = { status, body }
    expect(await calls.change(ban)).toEqual({
      kind: 'refused',
      message:
        'This form was sent before with other values, which may have taken effect. Check the current state, and open the form again.',
    })
  })

  it.each<[string, StubAnswer]>([
    ['a page', { headers: { 'content-type': 'text/html' }, body: '<p>Down for maintenance</p>' }],
    ['no body', { body: '' }],
    ['null', { body: 'null' }],
    ['a list', { body: [] }],
    ['an empty record', { body: {} }],
    ['a text', { body: '"done"' }],
    ['JSON that is cut', { body: '{"id":7,"na' }],
    ['JSON that is nested deeply', { body: '['.repeat(200_000) + ']'.repeat(200_000) }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
  ])('is unknown where the answer is none of the route: %s', async (_what, given) => {
    answer = given
    expect(await calls.change(ban)).toEqual(UNKNOWN)
  })

  it.each<[string, StubAnswer, string]>([
    ['the record of the route', { body: { user: {} } }, 'done'],
    ['another record', { body: { status: 'maintenance' } }, 'unknown'],
    ['no body', { status: 204, body: '' }, 'unknown'],
  ])('is done only by the answer that the change names: %s', async (_what, given, kind) => {
    answer = given
    expect((await calls.change({ ...ban, answer: answerWith('user') })).kind).toBe(kind)
  })

  const UNKNOWN = {
    kind: 'unknown',
    message:
      'The service has not answered, so the outcome is unknown. Press the button again: the change is made at most once.',
  }

  it.each([500, 502, 503])('is unknown after the status %i, which nobody can rely on', async (status) => {
    answer = { status }
    expect(await calls.change(ban)).toEqual(UNKNOWN)
  })

  it('is unknown when the connection breaks before the answer', async () => {
    const broken = await startStubProvider(() => undefined)
    const client = createServiceClient({ auth: broken.url })
    const credentials = { role: 'admin', accessToken: 't', address: '::1' } as const
    const lost = createOperatorCalls(client, { auth: new Map([['admin', 'k']]) }, credentials).change(ban)
    await expect.poll(() => broken.requests.length).toBe(1)
    await broken.close()
    expect(await lost).toEqual(UNKNOWN)
  })

  it.each([
    [401, notSignedIn()],
    [404, objectNotFound()],
    [429, tooManyRequests()],
  ])('refuses the status %i of a service as an error of the console', async (status, error) => {
    answer = { status }
    await expect(calls.change(ban)).rejects.toThrow(error)
  })
})

describe('enveloped', () => {
  it('reads what stands in the envelope', () => {
    expect(enveloped(z.array(z.int())).parse({ statusCode: 200, data: [1, 2] })).toEqual([1, 2])
  })

  it.each([[1, 2], { statusCode: 200 }, { data: ['1'] }, null])('refuses %j, which is no such answer', (body) => {
    expect(enveloped(z.array(z.int())).safeParse(body).success).toBe(false)
  })
})

describe('RecordId', () => {
  it.each([
    ['1', 1],
    ['9007199254740991', 9_007_199_254_740_991],
  ])('takes %j of an address as %j', (text, id) => {
    expect(RecordId.parse(text)).toBe(id)
  })

  it.each(['0', '-1', '1.5', '', ' ', 'x', '..', '1/2', 'Infinity', '9007199254740993'])(
    'refuses %j, which names no record',
    (text) => {
      expect(RecordId.safeParse(text).success).toBe(false)
    },
  )
})

describe('OptionalId', () => {
  it.each([
    ['', undefined],
    [undefined, undefined],
    ['7', 7],
  ])('takes %j of a filter as %j', (text, id) => {
    expect(OptionalId.parse(text)).toBe(id)
  })

  it.each(['0', 'x', ' '])('refuses %j, which names no record', (text) => {
    expect(OptionalId.safeParse(text).success).toBe(false)
  })
})

describe('productTag', () => {
  it('is the entity tag that inventory gives the version', () => {
    expect(productTag(7, 3)).toBe('"p7-3"')
  })
})
