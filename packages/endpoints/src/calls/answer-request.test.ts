import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorAnswer, errorBody, jsonAnswer } from '../../test/whole-answers.ts'
import {
  AccessDenied,
  CallError,
  CallStop,
  Conflict,
  Controller,
  Forbidden,
  MethodNotAllowed,
  NotFound,
  NotImplemented,
  TooManyRequests,
  ValidationError,
} from '../endpoints.ts'

const thrown: Readonly<Record<string, () => unknown>> = {
  default: () => new CallError(),
  gone: () => new CallError(410, 'gone', { type: 'GONE', headers: { 'x-a': 'b' }, cause: 'secret' }),
  body: () => new CallError(422, 'own body', { body: { own: true } }),
  bad: () => new CallError(400),
  invalid: () => new ValidationError([{ path: '', message: 'is wrong' }]),
  'denied-bare': () => new AccessDenied(),
  denied: () => new AccessDenied('no', { scheme: 'Bearer', realm: 'a "b"' }),
  forbidden: () => new Forbidden(),
  'not-found': () => new NotFound('no such thing'),
  'not-allowed': () => new MethodNotAllowed(['GET', 'HEAD']),
  conflict: () => new Conflict(),
  'too-many': () => new TooManyRequests(1.2),
  'not-implemented': () => new NotImplemented(),
  unavailable: () => new CallError(503, 'later'),
  error: () => new Error('secret'),
  'type-error': () => new TypeError('Cannot read properties of undefined'),
  text: () => 'secret',
  nothing: () => undefined,
}

class Errors extends Controller {
  GET(name: string) {
    this.response.status = 201
    this.response.type = 'text/plain'
    this.response.headers.set('etag', '"1"')
    this.response.headers.set('cache-control', 'max-age=60')
    this.response.headers.set('x-kept', 'yes')
    throw thrown[name]?.()
  }
}

/** Handles errors of the classes that derive from it. */
class Translated extends Controller {
  GET(how: string) {
    throw how === 'stop' ? new CallStop(202) : new Error(how)
  }
  override onError(error: unknown): unknown {
    const how = error instanceof Error ? error.message : ''
    if (how === 'value') return { translated: how }
    if (how === 'status') {
      this.response.status = 409
      return { translated: how }
    }
    if (how === 'error') return new NotFound(how)
    if (how === 'throws') throw new Conflict(how)
    if (how === 'stops') return new CallStop(203, how)
    if (how === 'async') return Promise.resolve({ translated: how })
    return undefined
  }
}

const logged: unknown[] = []
let all: EveryInterface
beforeAll(async () => {
  const log = { warn: () => {}, error: (error: unknown) => logged.push(error) }
  all = await everyInterface({ modules: { index: { Errors, Translated } }, log })
})
afterAll(() => all.close())

describe('the envelope', () => {
  it.each([
    [500, 'default', 'SERVER_ERROR', 'An unexpected error occurred'],
    [410, 'gone', 'GONE', 'gone'],
    [400, 'bad', 'BAD_REQUEST', 'The request is malformed'],
    [401, 'denied-bare', 'UNAUTHENTICATED', 'Authentication is required'],
    [403, 'forbidden', 'INSUFFICIENT_PRIVILEGES', 'Access is refused'],
    [404, 'not-found', 'RESOURCE_NOT_FOUND', 'no such thing'],
    [405, 'not-allowed', 'NOT_ALLOWED', 'This URL does not take this method'],
    [409, 'conflict', 'CONFLICT', 'The request conflicts with the present state'],
    [429, 'too-many', 'TOO_MANY_REQUESTS', 'Too many requests'],
    [501, 'not-implemented', 'NOT_IMPLEMENTED', 'This method is not implemented'],
    [503, 'unavailable', 'SERVER_ERROR', 'later'],
    [500, 'error', 'SERVER_ERROR', 'An unexpected error occurred'],
    [500, 'type-error', 'SERVER_ERROR', 'An unexpected error occurred'],
    [500, 'text', 'SERVER_ERROR', 'An unexpected error occurred'],
    [500, 'nothing', 'SERVER_ERROR', 'An unexpected error occurred'],
  ])('%i: answers %s with %s', async (status, ...[name, type, description]) => {
    const answer = await all.ask({ path: `/errors/${name}` })
    expect(JSON.parse(answer.body)).toEqual({ statusCode: status, error: { type, description } })
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8'])
  })

  it.each([
    ['gone', { 'x-a': 'b' }],
    ['denied-bare', { 'www-authenticate': 'Auth realm="endpoints"' }],
    ['denied', { 'www-authenticate': 'Bearer realm="a \\"b\\""' }],
    ['not-allowed', { allow: 'GET, HEAD' }],
    ['too-many', { 'retry-after': '2' }],
  ])('answers %s with the headers %j', async (name, headers) => {
    const { headers: sent } = await all.ask({ path: `/errors/${name}` })
    for (const [header, value] of Object.entries(headers)) expect(sent[header], header).toBe(value)
  })

  it('400: lists the issues of a ValidationError', async () => {
    const { body } = await all.ask({ path: '/errors/invalid' })
    const issues = [{ path: '', message: 'is wrong' }]
    const error = { type: 'VALIDATION_ERROR', description: 'The request: is wrong', issues }
    expect(JSON.parse(body)).toEqual({ statusCode: 400, error })
  })

  it('is replaced by the body of the error', async () => {
    expect(await all.ask({ path: '/errors/body' })).toEqual(jsonAnswer(422, '{"own":true}', { 'x-kept': 'yes' }))
  })

  it('drops headers that described another answer', async () => {
    const { headers } = await all.ask({ path: '/errors/not-found' })
    expect(headers).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'content-length': '86',
      'x-kept': 'yes',
      'x-request-id': 'test',
    })
  })

  it('refuses a status that is not an error’s', () => {
    expect(() => new CallError(200)).toThrow(RangeError)
  })
})

describe('onError', () => {
  it.each([
    [500, 'value', '{"translated":"value"}'],
    [409, 'status', '{"translated":"status"}'],
    [500, 'async', '{"translated":"async"}'],
    [203, 'stops', '"stops"'],
    [202, 'stop', ''],
  ])('%i: answers %s with %s', async (status, ...[how, body]) => {
    const answer = await all.ask({ path: `/translated/${how}` })
    expect([answer.status, answer.body]).toEqual([status, body])
  })

  it.each([
    ['error', 404, 'error'],
    ['throws', 409, 'throws'],
    ['nothing', 500, 'An unexpected error occurred'],
  ])('%s is the error %i', async (how, ...[status, description]) => {
    const { body } = await all.ask({ path: `/translated/${how}` })
    expect(JSON.parse(body)).toEqual({ statusCode: status, error: { description, type: expect.any(String) } })
  })

  it('gets errors from before the handler too', async () => {
    class Early extends Controller {
      static override use = [() => false]
      GET() {
        return 'not called'
      }
      override onError(): unknown {
        return { heard: this.response.status }
      }
    }
    const early = await everyInterface({ modules: { index: { Early } } })
    expect(await early.ask({ path: '/early' })).toEqual(jsonAnswer(403, '{"heard":403}'))
    expect(await early.ask({ method: 'POST', path: '/early' })).toEqual(jsonAnswer(405, '{"heard":405}'))
    await early.close()
  })
})

describe('the log', () => {
  const heard = async (path: string): Promise<readonly unknown[]> => {
    logged.length = 0
    await all.app.inject({ path })
    return logged
  }

  it.each([['error'], ['text'], ['default'], ['unavailable']])(
    'has one entry for the defect or outage %s',
    async (name) => {
      expect(await heard(`/errors/${name}`)).toHaveLength(1)
    },
  )

  it.each([['not-found'], ['not-implemented'], ['gone']])('has no entry for the refusal %s', async (name) => {
    expect(await heard(`/errors/${name}`)).toEqual([])
  })

  it('tells listeners of each request, its error and its status, in this order', async () => {
    const events: unknown[] = []
    all.app.on('error', (error, request) => events.push(['error', String(error), request.path]))
    all.app.on('request', (request) => events.push(['request', request.route?.pattern, request.route?.positionals]))
    all.app.on('route', (request, status) => events.push(['route', request.route?.handler, status]))
    await all.app.inject({ path: '/errors/error' })
    await all.app.inject({ path: '/nowhere' })
    expect(events).toEqual([
      ['request', '/errors/{name}', ['error']],
      ['error', 'Error: secret', '/errors/error'],
      ['route', 'GET', 500],
      ['request', undefined, undefined],
      ['route', undefined, 404],
    ])
  })
})

it('a failing listener fails no request', async () => {
  const app = await everyInterface({
    modules: { index: { Errors } },
    log: { warn: () => {}, error: (error) => logged.push(error) },
  })
  const fail = (): never => {
    throw new Error('a listener')
  }
  app.app.on('route', fail).on('error', fail)
  logged.length = 0
  const failed = await app.app.inject({ path: '/errors/error' })
  expect([failed.status, await failed.json()]).toEqual([
    500,
    errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
  ])
  expect(logged.map(String)).toEqual(['Error: secret', 'Error: a listener', 'Error: a listener'])
  await app.close()
})

describe('options', () => {
  it('onError answers last, also when no controller was found', async () => {
    const seen: string[] = []
    const translating = await everyInterface({
      modules: { index: { Errors } },
      onError: (error, { path }) => {
        seen.push(path)
        return error instanceof CallError ? undefined : new CallError(418, 'Translated', { body: { teapot: true } })
      },
    })
    expect(await translating.ask({ path: '/errors/error' })).toEqual(
      jsonAnswer(418, '{"teapot":true}', { 'x-kept': 'yes' }),
    )
    expect(await translating.ask({ path: '/nowhere' })).toEqual(
      errorAnswer(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'),
    )
    expect(new Set(seen)).toEqual(new Set(['/errors/error', '/nowhere', '/mount/errors/error', '/mount/nowhere']))
    await translating.close()
  })

  it('errorBody replaces the envelope, also when no controller was found', async () => {
    const problems = await everyInterface({
      modules: { index: { Errors } },
      errorBody: ({ status, message }, request) => ({ status, title: message, instance: request.path }),
    })
    const body = '{"status":404,"title":"There is nothing at this URL","instance":"/x/y"}'
    // Ask without a mount, because its prefix would be part of the path.
    expect(await problems.ask({ path: '/x/y', withoutMount: true })).toEqual(jsonAnswer(404, body))
    await problems.close()
  })

  it('a failing errorBody is 500 in the envelope', async () => {
    const errorBody = (): never => {
      throw new Error('secret')
    }
    const failing = await everyInterface({ modules: { index: { Errors } }, errorBody })
    const { status, body } = await failing.ask({ path: '/nowhere' })
    expect([status, JSON.parse(body)]).toEqual([
      500,
      { error: { type: 'SERVER_ERROR', description: 'An unexpected error occurred' }, statusCode: 500 },
    ])
    await failing.close()
  })

  it('exposeErrors adds the stack of an error to the answer', async () => {
    const exposing = await everyInterface({ modules: { index: { Errors } }, exposeErrors: true })
    const { body } = await exposing.app.inject({ path: '/errors/error' })
    expect(await new Response(body).text()).toContain('Error: secret\\n    at ')
    await exposing.close()
  })
})
