import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Ask, type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorAnswer, errorBody } from '../../test/whole-answers.ts'
import {
  Application,
  type Args,
  accepts,
  authBearer,
  Controller,
  Forbidden,
  type GuardContext,
  httpCache,
  NotFound,
  noHttpCache,
} from '../endpoints.ts'

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
  all = await everyInterface({ modules: { index: { Ordered, Refused, Cached } }, use: [noting('application')] })
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

  it.each([
    [404, 'URL', '/nowhere', errorBody(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL')],
    [405, 'verb', '/ordered', errorBody(405, 'NOT_ALLOWED', 'This URL does not take this method')],
  ])('%i: refuses an unknown %s before it asks a guard', async (status, _part, path, body) => {
    order = []
    const refused = await all.app.inject({ path })
    expect([refused.status, await refused.json()]).toEqual([status, body])
    expect(order).toEqual([])
  })
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
