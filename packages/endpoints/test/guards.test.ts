import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  Application,
  type Args,
  accepts,
  authBasic,
  authBearer,
  CallError,
  Controller,
  Forbidden,
  type GuardContext,
  httpCache,
  memoryStore,
  NotFound,
  noHttpCache,
  rateLimit,
  requireScopes,
} from '../src/endpoints.ts'
import { type Ask, type EveryInterface, everyInterface } from './every-interface.ts'
import { errorAnswer, errorBody, jsonAnswer } from './whole-answers.ts'

let order: string[] = []
const noting = (name: string) => () => void order.push(name)

class Base extends Controller {
  static override use = [noting('base')]
}

class Ordered extends Base {
  static override use = [noting('class')]

  static POST = accepts({
    path: [z.string().optional()],
    keywords: z.object({ a: z.string() }),
    use: [
      Object.assign(({ args }: GuardContext) => void order.push(`bound ${JSON.stringify(args)}`), {
        phase: 'bound' as const,
      }),
      noting('handler guard'),
    ],
  })
  POST(...[, { a }]: Args<typeof Ordered.POST>) {
    order.push(`handler ${a}`)
    return a
  }

  override before() {
    order.push('before')
  }
  override after(value: unknown) {
    order.push('after')
    return { after: value }
  }
}

class Refused extends Controller {
  static GET_false = accepts({ use: [() => false] })
  GET_false() {}

  static GET_async = accepts({ use: [async () => false] })
  GET_async() {}

  static POST_unread = accepts({ keywords: z.object({ a: z.string() }), use: [() => false] })
  POST_unread() {}
}

const fail = (error: Error) => () => {
  throw error
}

class Auth extends Controller {
  static GET_basic = accepts({
    use: [authBasic((name, password) => name === 'ada' && password === 'pass:é' && { name }, { realm: 'r' })],
  })
  GET_basic() {
    return this.request.identity
  }

  static GET_bearer = accepts({ use: [authBearer(async (token) => token === 't0k.en' && { scope: 'read write' })] })
  GET_bearer() {
    return [this.request.isAuth('bearer'), this.request.isAuth('token'), this.request.isAuth('client')]
  }

  static GET_scopes = accepts({
    use: [authBearer((token) => ({ scopes: token.split(',') })), requireScopes('read', 'write')],
  })
  GET_scopes() {
    return 'in'
  }

  static GET_scope = accepts({ use: [authBearer((scope) => ({ scope })), requireScopes('read')] })
  GET_scope() {
    return 'in'
  }

  static GET_error = accepts({ use: [authBearer(fail(new Error('the directory is away')))] })
  GET_error() {}

  static GET_call_error = accepts({ use: [authBearer(fail(new CallError(503)))] })
  GET_call_error() {}

  static GET_handler_fault = accepts({ use: [authBearer(() => true)] })
  GET_handler_fault() {
    throw new TypeError('a fault of the handler')
  }
}

class Cached extends Controller {
  static GET = accepts({ path: [z.string().optional()], use: [httpCache(60)] })
  GET(...[missing]: Args<typeof Cached.GET>) {
    if (missing) throw new NotFound()
    return 'kept'
  }

  static GET_never = accepts({ path: [z.string().optional()], use: [noHttpCache()] })
  GET_never(...[missing]: Args<typeof Cached.GET_never>) {
    if (missing) throw new NotFound()
    return 'not kept'
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { index: { Ordered, Refused, Auth, Cached } }, use: [noting('application')] })
})
afterAll(() => all.close())

const json = { 'content-type': 'application/json' }

describe('order', () => {
  it('is guards, body, bound guards, before, handler, after', async () => {
    order = []
    const response = await all.app.inject({ method: 'POST', path: '/ordered', headers: json, body: '{"a":"x"}' })
    expect(await response.json()).toEqual({ after: 'x' })
    expect(order).toEqual([
      ...['application', 'base', 'class', 'handler guard'],
      ...['bound [null,{"a":"x"}]', 'before', 'handler x', 'after'],
    ])
  })

  it.each([
    ['/refused/false', {}],
    ['/refused/async', {}],
    ['/refused/unread', { method: 'POST', headers: json, body: '{"broken' }],
  ])('403: %s refuses before the body is read', async (path, request: Partial<Ask>) => {
    const { status, body } = await all.ask({ ...request, path })
    expect([status, JSON.parse(body)]).toEqual([
      403,
      { error: { type: 'INSUFFICIENT_PRIVILEGES', description: 'Access is refused' }, statusCode: 403 },
    ])
  })

  it('403: a hook in an instance field guards too', async () => {
    class Field extends Controller {
      constructor(...given: ConstructorParameters<typeof Controller>) {
        super(...given)
        Object.assign(this, { before: () => Promise.reject(new Forbidden()), after: () => 'after' })
      }
      GET() {
        return 'not called'
      }
    }
    const fields = await everyInterface({ modules: { index: { Field } } })
    expect(await fields.ask({ path: '/field' })).toEqual(
      errorAnswer(403, 'INSUFFICIENT_PRIVILEGES', 'Access is refused'),
    )
    await fields.close()
  })

  it('guards of outer classes run first for nested ones, of bases before, each once', async () => {
    // biome-ignore lint/complexity/noStaticOnlyClass: the test needs a class that only contains others
    class Holder {
      static use = [noting('base of the outer class')]
    }
    class Outer extends Holder {
      static override use = [noting('outer class')]
      static Inner = class Inner extends Base {
        static override use = [noting('nested class')]
        static Innermost = class extends Inner {
          static override use = [noting('innermost class')]
        }
        GET() {}
      }
    }
    const arrow = Object.assign(() => {}, {
      use: [noting('arrow function')],
      Inner: class extends Controller {
        GET() {}
      },
    })
    const app = new Application({ modules: { index: { Outer, arrow } } })
    order = []
    expect((await app.inject({ path: '/outer/inner/innermost' })).status).toBe(204)
    expect(order).toEqual(['base of the outer class', 'outer class', 'base', 'nested class', 'innermost class'])
    order = []
    expect((await app.inject({ path: '/arrow/inner' })).status).toBe(204)
    expect(order).toEqual(['arrow function'])
  })

  it('401: the guard of an outer class closes a nested one, and the document shows it', async () => {
    const signedIn = authBearer((token) => token === 't0k.en')
    class Admin extends Controller {
      static override use = [signedIn]
      static Keys = class extends Controller {
        static DELETE = accepts({ path: [z.string()], names: ['id'] })
        DELETE() {}
      }
      GET() {}
    }
    // biome-ignore lint/complexity/noStaticOnlyClass: the test needs a class that only contains others
    class Users {
      static use = [signedIn]
      static Roles = class extends Controller {
        GET() {}
      }
    }
    const app = new Application({ modules: { index: { Admin, Users } } })
    const authorization = 'Bearer t0k.en'
    for (const [method, path] of [['DELETE', '/admin/keys/7'] as const, ['GET', '/users/roles'] as const]) {
      const refused = await app.inject({ method, path })
      expect([refused.status, await refused.json()]).toEqual([
        401,
        errorBody(401, 'UNAUTHENTICATED', 'Authentication is required'),
      ])
      expect((await app.inject({ method, path, headers: { authorization } })).status).toBe(204)
    }
    await app.ready()
    const { paths } = app.openapi()
    const bearer = [{ bearer: [] }]
    expect(paths['/admin/keys/{id}']?.delete?.security).toEqual(bearer)
    expect(paths['/users/roles']?.get?.security).toEqual(bearer)
  })

  it('404, 405: refuses an unknown URL and verb before it asks a guard', async () => {
    order = []
    for (const [path, status, type, description] of [
      ['/nowhere', 404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'],
      ['/ordered', 405, 'NOT_ALLOWED', 'This URL does not take this method'],
    ] as const) {
      const refused = await all.app.inject({ path })
      expect([refused.status, await refused.json()]).toEqual([status, errorBody(status, type, description)])
    }
    expect(order).toEqual([])
  })
})

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('authentication', () => {
  it.each([
    ['/auth/basic', basic('ada:pass:é'), '{"name":"ada"}'],
    ['/auth/bearer', 'Bearer t0k.en', '[true,true,false]'],
    ['/auth/bearer', 'bearer  t0k.en', '[true,true,false]'],
    ['/auth/scopes', 'Bearer read,write,more', '"in"'],
    ['/auth/scope', 'Bearer read', '"in"'],
  ])('200: admits %s with %s', async (path, authorization, body) => {
    expect(await all.ask({ path, headers: { authorization } })).toEqual(jsonAnswer(200, body))
  })

  const challenges: Readonly<Record<string, string>> = {
    '/auth/basic': 'Basic realm="r"',
    '/auth/bearer': 'Bearer realm="endpoints"',
    '/auth/error': 'Bearer realm="endpoints"',
  }

  it.each([
    ['/auth/basic', ''],
    ['/auth/basic', 'Basic'],
    ['/auth/basic', 'Basic ?'],
    ['/auth/basic', 'Basic /w=='],
    ['/auth/basic', basic('no colon')],
    ['/auth/basic', basic('ada:wrong')],
    ['/auth/basic', 'Bearer t0k.en'],
    ['/auth/bearer', ''],
    ['/auth/bearer', 'Bearer wrong'],
    ['/auth/bearer', basic('ada:pass')],
    ['/auth/error', 'Bearer any'],
  ])('401: refuses %s with "%s"', async (path, authorization) => {
    const answer = await all.ask({ path, headers: authorization === '' ? {} : { authorization } })
    expect(answer).toEqual(
      errorAnswer(401, 'UNAUTHENTICATED', 'Authentication is required', { 'www-authenticate': challenges[path] ?? '' }),
    )
  })

  it.each([
    [403, '/auth/scopes', 'Bearer read', 'INSUFFICIENT_PRIVILEGES', 'This needs the scope write'],
    [403, '/auth/scope', 'Bearer ready', 'INSUFFICIENT_PRIVILEGES', 'This needs the scope read'],
    [503, '/auth/call-error', 'Bearer any', 'SERVER_ERROR', 'An unexpected error occurred'],
    [500, '/auth/handler-fault', 'Bearer any', 'SERVER_ERROR', 'An unexpected error occurred'],
  ])('%i: answers %s with "%s"', async (...row) => {
    const [status, path, authorization, type, description] = row
    expect(await all.ask({ path, headers: { authorization } })).toEqual(errorAnswer(status, type, description))
  })
})

describe('an outage inside a check', () => {
  it.each([['authBasic'], ['authBearer']] as const)(
    '401: %s reports the outage to the log and as an event',
    async (name) => {
      const logged: string[] = []
      const log = {
        warn: () => {},
        error: (error: unknown, message: string) => void logged.push(`${message}: ${error}`),
      }
      class Guarded extends Controller {
        static override use = [{ authBasic, authBearer }[name](fail(new Error('the directory is away')))]
        GET() {}
      }
      const app = new Application({ modules: { index: { Guarded } }, log })
      const told: unknown[] = []
      app.on('error', (error) => told.push(String(error)))
      const authorization = name === 'authBasic' ? basic('ada:pass') : 'Bearer any'
      const response = await app.inject({ path: '/guarded', headers: { authorization, 'x-request-id': 'r' } })
      expect([response.status, await response.json()]).toEqual([
        401,
        { statusCode: 401, error: { type: 'UNAUTHENTICATED', description: 'Authentication is required' } },
      ])
      expect(logged).toEqual(['GET /guarded failed (request r): Error: the directory is away'])
      expect(told).toEqual(['Error: the directory is away'])
      await app.inject({ path: '/guarded' })
      expect(told).toHaveLength(1)
    },
  )
})

describe('caching', () => {
  it.each([
    ['/cached', 'max-age=60'],
    ['/cached/never', 'no-cache, no-store, must-revalidate'],
    ['/cached/never/missing', 'no-cache, no-store, must-revalidate'],
  ])('sends for %s the Cache-Control %s', async (path, expected) => {
    expect((await all.ask({ path })).headers['cache-control']).toBe(expected)
  })

  it('sends no Cache-Control with an error, unless its class is never cached', async () => {
    expect((await all.ask({ path: '/cached/missing' })).headers).not.toHaveProperty('cache-control')
    expect((await all.ask({ path: '/cached/never/missing' })).headers).toEqual({
      pragma: 'no-cache',
      expires: '0',
      'cache-control': 'no-cache, no-store, must-revalidate',
      'content-length': '101',
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'test',
    })
  })
})

describe('rate limits', () => {
  let time = 1_000
  class Limited extends Controller {
    static override use = [
      rateLimit({ limit: 2, ttl: 10, key: ({ request }) => request.header('x-key') ?? '', now: () => time }),
    ]
    GET() {
      return 'in'
    }
  }
  const hit = async (app: EveryInterface['app'], key: string) => {
    const { status, headers } = await app.inject({ path: '/limited', headers: { 'x-key': key } })
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']
    return [status, ...names.map((name) => headers.get(name))]
  }

  it('429: refuses requests beyond the limit, until the window of the first one ends', async () => {
    const { app, close } = await everyInterface({ modules: { index: { Limited } } })
    expect(await hit(app, 'a')).toEqual([200, '2', '1', '10', null])
    time = 5_500
    expect(await hit(app, 'a')).toEqual([200, '2', '0', '6', null])
    expect(await hit(app, 'a')).toEqual([429, '2', '0', '6', '6'])
    expect(await hit(app, 'b')).toEqual([200, '2', '1', '10', null])
    time = 10_999
    expect(await hit(app, 'a')).toEqual([429, '2', '0', '1', '1'])
    time = 11_000
    expect(await hit(app, 'a')).toEqual([200, '2', '1', '10', null])
    await close()
  })

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['192.0.2.7:1234', '192.0.2.7'],
    ['[2001:db8:1:2::1]:1234', '2001:db8:1:2::/64'],
    ['unknown:1234', 'unknown:1234'],
    ['unknown', 'unknown'],
  ])('count %s under %s without a key', async (address, key) => {
    const keys: string[] = []
    const store = memoryStore()
    const hit: typeof store.hit = (name, ...more) => {
      keys.push(name)
      return store.hit(name, ...more)
    }
    class Counted extends Controller {
      static override use = [rateLimit({ limit: 1, ttl: 1, store: { hit } })]
      GET() {}
    }
    const app = new Application({ modules: { index: { Counted } }, trustProxy: 1 })
    await app.inject({ path: '/counted', headers: { 'x-forwarded-for': address } })
    expect(keys).toEqual([key])
  })

  it('count no client without a key, and warn of it once', async () => {
    const warnings: string[] = []
    const log = { warn: (message: string) => warnings.push(message), error: () => {} }
    const { app, close } = await everyInterface({ modules: { index: { Limited } }, log })
    for (let i = 0; i < 4; i += 1) expect(await hit(app, '')).toEqual([200, null, null, null, null])
    expect(warnings).toEqual(['rateLimit: the key is empty, so nobody is counted'])
    await close()
  })

  it.each([[{ limit: Number.NaN, ttl: 1 }], [{ limit: 1, ttl: Number.NaN }], [{ limit: -1, ttl: 1 }]])(
    'refuses %j, which would limit nothing',
    (options) => {
      expect(() => rateLimit(options)).toThrow('must be a number')
    },
  )

  it('forget the key that was not seen for the longest time', async () => {
    const store = memoryStore(2)
    const hits = ['a', 'b', 'a', 'c', 'a', 'b'].map((key) => store.hit(key, 10, 0))
    expect((await Promise.all(hits)).map(({ count }) => count)).toEqual([1, 1, 2, 1, 3, 1])
  })
})
