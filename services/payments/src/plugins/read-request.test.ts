import { type FastifyRequest, fastify, type InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { errorBodies, refusedField, shownMerchant, statusAndBody } from '../../test/bodies.ts'
import {
  createdOf,
  createTestApp,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import type { RequestInput } from '../access/require-access.ts'
import { bodyMalformed } from '../errors.ts'
import { pathId } from '../requests/fields.ts'
import { ParsedInput } from '../requests/validate-input.ts'
import { type Routes, readRequest } from './read-request.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const post = (payload: string | Buffer, headers: Record<string, string>) =>
  payments.app.inject({ method: 'POST', url: '/merchants', payload, headers: { ...app.headers, ...headers } })
/** The expected problems of a body without any of the required fields. */
const REQUIRED = ['currency', 'email', 'website', 'descriptor', 'company.country'].map((field) => ({
  field,
  message: 'is required',
  code: 'REQUIRED',
}))
const type = (value: string) => ({ 'content-type': value })

describe('readRequest', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON; Charset=UTF-8',
    'application/json;charset="utf8"',
    'application/vnd.api+json',
    'application/problem+json; profile=x',
  ])('reads JSON sent as %s', async (contentType) => {
    for (const beginning of ['', '\ufeff']) {
      const response = await post(beginning + JSON.stringify(merchantBody), type(contentType))
      expect([response.statusCode, response.json()]).toEqual([201, { merchant: shownMerchant() }])
    }
  })

  it.each(['', '\ufeff'])('reads a form that begins with %j', async (beginning) => {
    const form = `${beginning}name=na%C3%AFve+\u00e9%EF%BF%BD`
    const response = await post(form, type('Application/X-WWW-Form-URLencoded; Charset=UTF-8'))
    expect(statusAndBody(response)).toEqual([400, REQUIRED])
  })

  it.each<[string, Record<string, string>]>([
    ['x', {}],
    ['x', type('text/plain')],
    ['x', type('application/jsonx')],
    ['x', type('multipart/form-data; boundary=x')],
    ['x', type('nonsense')],
    ['x', type('')],
    ['{}', type('application/json; charset=latin1')],
    ['a=1', type('application/x-www-form-urlencoded; charset=iso-8859-1')],
    ['a=1', { ...type('application/x-www-form-urlencoded'), 'content-encoding': 'gzip' }],
    ['{}', { ...type('application/json'), 'content-encoding': 'gzip' }],
    ['{}', { ...type('application/json'), 'content-encoding': 'identity' }],
  ])('415: refuses %j with %j', async (payload, headers) => {
    const response = await post(payload, headers)
    expect(response.statusCode).toBe(415)
    expect(response.json()).toEqual({
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'The body must be JSON or a form, in UTF-8',
    })
  })

  it.each<[string | Buffer, string, string]>([
    ['{', 'application/json', 'is not valid JSON'],
    ['[]', 'application/json', 'must be an object'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'application/json', 'is not valid UTF-8'],
    [Buffer.from([0x61, 0x3d, 0xff]), 'application/x-www-form-urlencoded', 'is not valid UTF-8'],
    ['a=%ff', 'application/x-www-form-urlencoded', 'is not valid percent-encoded UTF-8'],
    ['a=%zz', 'application/x-www-form-urlencoded', 'is not valid percent-encoded UTF-8'],
  ])('400: refuses %j as %s', async (payload, contentType, message) => {
    const response = await post(payload, type(contentType))
    expect(response.statusCode).toBe(400)
    expect(response.body).toBe(`[{"field":"body","message":"${message}","code":"FORMAT"}]\n`)
  })

  it('413: refuses a body above 128 KiB', async () => {
    const fill = (bytes: number) => post(`{"x":"${'x'.repeat(bytes - 8)}"}`, type('application/json'))
    expect(statusAndBody(await fill(131_072))).toEqual([400, REQUIRED])
    const response = await fill(131_073)
    expect(response.statusCode).toBe(413)
    expect(response.json()).toEqual({ code: 'PAYLOAD_TOO_LARGE', message: 'The body is too large' })
  })

  it('ignores body and media type of GET', async () => {
    for (const contentType of ['application/json', 'text/plain', 'nonsense']) {
      const headers = { ...app.headers, ...type(contentType) }
      const response = await payments.app.inject({ method: 'GET', url: '/me', headers, payload: '{' })
      expect([response.statusCode, response.json()]).toEqual([
        200,
        { identity: { id: app.id, created: createdOf(app.id) } },
      ])
    }
  })

  it('404: refuses malformed ids, also beside an empty one', async () => {
    for (const url of ['/merchants/%00/users//', '/merchants/%00/users/x', `/merchants/${app.id}/apps//`, '/lines//']) {
      const method = url === '/lines//' ? 'GET' : 'DELETE'
      const response = await payments.app.inject({ method, url, headers: app.headers })
      expect([url, response.statusCode, response.json()]).toEqual([url, 404, errorBodies.notFound])
    }
  })

  // ASVS 15.3.7
  it('400: refuses a form with a field given twice, before the schema judges it', async () => {
    const response = await post('currency=DKK&currency=EUR', type('application/x-www-form-urlencoded'))
    expect(statusAndBody(response)).toEqual(refusedField('currency', 'is given more than once', 'DUPLICATE'))
  })

  it('gives a handler the values, or the problem in place of them, whoever found the problem', async () => {
    const server = fastify()
    onTestFinished(() => server.close())
    await server.register(readRequest)
    server.addHook('preHandler', async (request) => {
      if ('x-problem' in request.headers) request.problem ??= { stage: 'validation', error: bodyMalformed(undefined) }
    })
    const schema = z.object({ limit: z.int() })
    const seen = (values: unknown, input: RequestInput<undefined>) => [values, input].map(outlineOf)
    server.post('/', { schema: { body: schema } }, async ({ body, input }) => seen(body, input))
    server.get('/', { schema: { querystring: schema } }, async ({ query, input }) => seen(query, input))
    const seenOf = async (request: InjectOptions) => (await server.inject({ url: '/', ...request })).json()
    expect([
      await seenOf({ method: 'POST', payload: { limit: 1 } }),
      await seenOf({ method: 'POST', payload: { limit: 'x' } }),
      await seenOf({ method: 'POST', payload: '{', headers: type('application/json') }),
      await seenOf({ method: 'POST', payload: { limit: 1 }, headers: { 'x-problem': '1' } }),
      await seenOf({ method: 'GET', query: { limit: '1' } }),
      await seenOf({ method: 'GET', query: { limit: 'x' } }),
    ]).toEqual([
      [{ verdict: 'valid', values: { limit: 1 } }, { verdict: 'valid' }],
      [refusedAt('validation'), refusedAt('validation')],
      [refusedAt('parse'), refusedAt('parse')],
      [refusedAt('validation'), refusedAt('validation')],
      [{ verdict: 'valid', values: { limit: 1 } }, { verdict: 'valid' }],
      [refusedAt('validation'), refusedAt('validation')],
    ])
  })

  it('gives the handler of HEAD what it gives that of GET', async () => {
    const server = fastify()
    onTestFinished(() => server.close())
    const seen: unknown[] = []
    await server.register(readRequest)
    server.get('/', { schema: { querystring: z.object({ limit: z.int() }) } }, async ({ query }) => seen.push(query))
    for (const method of ['GET', 'HEAD'] as const) await server.inject({ method, url: '/?limit=1' })
    const query = { verdict: 'valid', values: { limit: 1 } }
    expect(seen).toEqual([query, query])
  })

  it('types values that may be refused, and parameters of the path that are never refused', async () => {
    const server = fastify()
    onTestFinished(() => server.close())
    const schema = z.object({ limit: z.int() })
    const routes: Routes = async (app) => {
      app.post('/:id', { schema: { params: z.object({ id: pathId() }), body: schema } }, async ({ params, body }) => {
        expectTypeOf(params.id).toExtend<string>()
        expectTypeOf(body).toEqualTypeOf<RequestInput<{ limit: number }>>()
      })
      app.get('/', { schema: { querystring: schema } }, async ({ query }) => {
        expectTypeOf(query).toEqualTypeOf<RequestInput<{ limit: number }>>()
      })
    }
    await server.register(readRequest).register(routes)
    const answer = await server.inject({ method: 'POST', url: '/x', payload: { limit: 'x' } })
    expect(answer.statusCode).toBe(200)
  })

  it('500: calls no handler when its schema throws', async () => {
    const broken = fastify()
    onTestFinished(() => broken.close())
    await broken.register(readRequest)
    const Body = z.object({
      name: z.string().refine(() => {
        throw new Error('no opinion')
      }),
    })
    broken.post('/', { schema: { body: Body } }, async () => expect.unreachable())
    const response = await broken.inject({ method: 'POST', url: '/', payload: { name: 'x' } })
    expect(response.json()).toEqual({
      statusCode: 500,
      message: 'no opinion',
      code: 'FST_ERR_VALIDATION',
      error: 'Internal Server Error',
    })
  })
})

/** Returns the input of a handler. Of a problem, it keeps only the stage. */
function outlineOf(input: unknown): unknown {
  const { data } = z.object({ problem: z.object({ stage: z.string() }) }).safeParse(input)
  return data ? refusedAt(data.problem.stage) : input
}

function refusedAt(stage: string): object {
  return { verdict: 'refused', stage }
}

describe('readRequest, of JSON', () => {
  /** Returns the values or the problem of a body, as a route without a schema gets them. */
  async function read(payload: string): Promise<unknown> {
    const echo = fastify()
    onTestFinished(() => echo.close())
    await echo.register(readRequest)
    let seen: Pick<FastifyRequest, 'body' | 'problem'> | undefined
    echo.post('/', async ({ body, problem }) => {
      seen = { body, problem }
    })
    await echo.inject({ method: 'POST', url: '/', payload, headers: type('application/json') })
    if (seen?.problem) return seen.problem.error.details.fields
    return seen?.body instanceof ParsedInput ? seen.body.value : undefined
  }

  it.each([
    ['{}', {}],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"constructor":"x","prototype":1}', { constructor: 'x', prototype: 1 }],
    [nested(20), JSON.parse(nested(20))],
  ])('reads the body %j as the value %j', async (payload, value) => {
    expect(await read(payload)).toEqual(value)
  })

  it('reads an empty body as an empty object', async () => {
    const required = { message: 'is required', code: 'REQUIRED' }
    expect((await post('', type('application/json'))).json()).toEqual(
      ['currency', 'email', 'website', 'descriptor', 'company.country'].map((field) => ({ field, ...required })),
    )
  })

  it.each([
    ['{', 'is not valid JSON'],
    [' ', 'is not valid JSON'],
    ['[]', 'must be an object'],
    ['null', 'must be an object'],
    ['"x"', 'must be an object'],
    ['{"a":{"__proto__":1}}', 'must not have a field __proto__'],
    ['{"a":[{"constructor":{"prototype":1}}]}', 'must not have a field constructor'],
    [nested(21), 'must not nest deeper than 20 levels'],
  ])('refuses %j', async (payload, message) => {
    expect(await read(payload)).toEqual([{ field: 'body', message, code: 'FORMAT' }])
  })
})

function nested(levels: number): string {
  return '{"a":'.repeat(levels) + 1 + '}'.repeat(levels)
}
