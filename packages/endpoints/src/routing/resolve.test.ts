import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorAnswer, errorBody, jsonAnswer } from '../../test/whole-answers.ts'
import { Controller } from '../endpoints.ts'

/** A controller that answers with its arguments. */
abstract class Echo extends Controller {
  echo(handler: string, positionals: readonly unknown[], keywords: object = {}): object {
    const { module, className } = this.request.route ?? {}
    return { at: `${module}:${className}.${handler}`, positionals, keywords: { ...keywords } }
  }
}

const modules = {
  index: {
    Default: class extends Echo {
      GET(...args: string[]) {
        return this.echo('GET', args)
      }
      POST({ ...keywords }: object) {
        return this.echo('POST', [], keywords)
      }
    },
    Status: class extends Echo {
      GET() {
        return this.echo('GET', [])
      }
    },
  },
  foo: {
    Default: class extends Echo {
      GET(...args: string[]) {
        return this.echo('GET', args)
      }
    },
    Bar: class extends Echo {
      GET(che = '', { baz = '' } = {}) {
        return this.echo('GET', [che], { baz })
      }
      POST(che: string, { baz }: { baz: string }) {
        return this.echo('POST', [che], { baz })
      }
      GET_stats(day = '') {
        return this.echo('GET_stats', [day])
      }
    },
  },
  'foo/baz': {
    Default: class extends Echo {
      GET(...a: string[]) {
        return this.echo('GET', a)
      }
    },
    Che: class extends Echo {
      GET() {
        return this.echo('GET', [])
      }
    },
  },
  'foo/boom': {
    Bang: class extends Echo {
      GET() {
        return this.echo('GET', [])
      }
    },
  },
  files: {
    Robots_txt: class extends Controller {
      GET() {
        return 'User-agent: *'
      }
    },
    // biome-ignore lint/complexity/noStaticOnlyClass: the test needs a class that only contains others
    Admin: class {
      static Users = class extends Echo {
        GET(id: string) {
          return this.echo('GET', [id])
        }
      }
    },
  },
  default: {
    Default: class extends Echo {
      ANY() {
        return this.echo('ANY', [])
      }
    },
  },
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules })
})
afterAll(() => all.close())

const form = { 'content-type': 'application/x-www-form-urlencoded' }

describe('worked examples', () => {
  it.each([
    ['GET /', ':Default.GET', [], {}],
    ['GET /happy', ':Default.GET', ['happy'], {}],
    ['GET /status', ':Status.GET', [], {}],
    ['GET /Status', ':Default.GET', ['Status'], {}],
    ['GET /default', 'default:Default.ANY', [], {}],
    ['GET /foo', 'foo:Default.GET', [], {}],
    ['GET /foo/happy', 'foo:Default.GET', ['happy'], {}],
    ['GET /foo/bar/che?baz=foo', 'foo:Bar.GET', ['che'], { baz: 'foo' }],
    ['POST /foo/bar/che', 'foo:Bar.POST', ['che'], { baz: 'foo' }],
    ['GET /foo/bar/stats/mon', 'foo:Bar.GET_stats', ['mon'], {}],
    ['GET /foo/baz', 'foo.baz:Default.GET', [], {}],
    ['GET /foo/baz/che', 'foo.baz:Che.GET', [], {}],
    ['GET /foo/baz/happy', 'foo.baz:Default.GET', ['happy'], {}],
    ['GET /foo/boom/bang', 'foo.boom:Bang.GET', [], {}],
    ['GET /files/admin/users/7', 'files:Admin.Users.GET', ['7'], {}],
  ])('200: resolves %s to %s with %j and %j', async (line, at, positionals, keywords) => {
    const [method = '', path = ''] = line.split(' ')
    const body = method === 'POST' ? { headers: form, body: 'baz=foo' } : {}
    const answer = await all.ask({ method, path, ...body })
    expect({ ...answer, body: JSON.parse(answer.body) }).toEqual({
      status: 200,
      body: { at, positionals, keywords },
      headers: {
        'content-length': expect.any(String),
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': 'test',
      },
    })
  })

  it.each([
    ['/status/x', 'no verb takes one positional'],
    ['/foo/boom', 'no Default, and no way back to that of foo'],
    ['/files/admin', 'holds a controller, but is none'],
  ])('404: finds nothing for GET %s (%s)', async (path) => {
    expect(await all.ask({ path })).toEqual(errorAnswer(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'))
  })

  it.each([
    ['POST', '/foo/bar', 'GET, HEAD, OPTIONS'],
    ['POST', '/foo/bar/stats', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/', 'GET, HEAD, POST, OPTIONS'],
  ])('405: refuses %s %s, and allows %s', async (method, path, allow) => {
    const answer = await all.ask({ method, path })
    expect(answer).toEqual(errorAnswer(405, 'NOT_ALLOWED', 'This URL does not take this method', { allow }))
    expect(JSON.parse(answer.body)).toEqual({
      statusCode: 405,
      error: { type: 'NOT_ALLOWED', description: 'This URL does not take this method' },
    })
  })

  it.each([
    ['/foo', 'GET, HEAD, OPTIONS'],
    ['/default', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
    ['/', 'GET, HEAD, POST, OPTIONS'],
    ['/x', 'GET, HEAD, OPTIONS'],
  ])('204: OPTIONS %s allows %s', async (path, allow) => {
    expect(await all.ask({ method: 'OPTIONS', path })).toEqual({
      status: 204,
      headers: { allow, 'x-request-id': 'test' },
      body: '',
    })
  })

  it('200: HEAD answers like GET, without the body', async () => {
    const { headers } = await all.ask({ path: '/foo' })
    expect(await all.ask({ method: 'HEAD', path: '/foo' })).toEqual({ status: 200, headers, body: '' })
  })

  it('200: an extension selects a media type', async () => {
    expect(await all.ask({ path: '/files/robots.txt' })).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': '13', 'x-request-id': 'test' },
      body: 'User-agent: *',
    })
  })

  it('501: refuses a verb that no URL accepts', async () => {
    expect(await all.ask({ method: 'PROPFIND', path: '/' })).toEqual(
      errorAnswer(501, 'NOT_IMPLEMENTED', 'This method is not implemented'),
    )
  })
})

const longest = `/${'a'.repeat(8_191)}`

describe('edge cases', () => {
  it.each([
    ['/foo/', 'foo:Default.GET', []],
    ['//foo', 'foo:Default.GET', []],
    ['/foo//happy', 'foo:Default.GET', ['happy']],
    ['/%66oo', 'foo:Default.GET', []],
    ['/foo/a%20b', 'foo:Default.GET', ['a b']],
    ['/foo/a+b', 'foo:Default.GET', ['a+b']],
    ['/%C3%A9', ':Default.GET', ['é']],
    ['/%252e%252e', ':Default.GET', ['%2e%2e']],
    ['/__proto__', ':Default.GET', ['__proto__']],
    ['/constructor', ':Default.GET', ['constructor']],
    ['/toString', ':Default.GET', ['toString']],
    ['/foo/hasOwnProperty', 'foo:Default.GET', ['hasOwnProperty']],
    ['/foo/prototype/then', 'foo:Default.GET', ['prototype', 'then']],
    ['/GET', ':Default.GET', ['GET']],
    ['/foo?', 'foo:Default.GET', []],
    [longest, ':Default.GET', [longest.slice(1)]],
    ['/a'.repeat(128), ':Default.GET', Array.from({ length: 128 }, () => 'a')],
  ])('200: answers GET %s by %s with the positionals %j', async (path, at, positionals) => {
    const withoutMount = path === longest || path.startsWith('//') || path.startsWith('/a/a')
    const answer = await all.ask({ path, withoutMount })
    expect(JSON.parse(answer.body)).toEqual({ at, positionals, keywords: {} })
  })

  it.each([
    ['/%zz'],
    ['/%4'],
    ['/%'],
    ['/%c0%af'],
    ['/%ff'],
    ['/%ed%a0%80'],
    ['/%00'],
    ['/a%0ab'],
    ['/%1f'],
    ['/%7f'],
    ['/%2F'],
    ['/a%5Cb'],
    ['/?a=%zz&b'],
  ])('400: refuses the malformed URL %s', async (path) => {
    expect(await all.ask({ path })).toEqual(errorAnswer(400, 'BAD_REQUEST', 'The URL is malformed'))
  })

  it.each([
    ['/?__proto__=1', 'A keyword has a forbidden name'],
    [`/?${'a&'.repeat(1_000)}a`, 'There are more than 1000 keywords'],
  ])('400: refuses the keywords of %s', async (path, description) => {
    expect(await all.ask({ path })).toEqual(errorAnswer(400, 'BAD_REQUEST', description))
  })

  it.each(['x', 'constructor', 'toString'])(
    '400: refuses the keyword %s, which the method does not take',
    async (path) => {
      const message = 'is not known here'
      const error = { type: 'VALIDATION_ERROR', description: `${path}: ${message}`, issues: [{ path, message }] }
      expect(await all.ask({ path: `/foo/happy?${path}=1` })).toEqual(
        jsonAnswer(400, JSON.stringify({ statusCode: 400, error })),
      )
    },
  )

  it.each([['/.'], ['/..'], ['/a/../b'], ['/%2e%2e'], ['/.%2E'], ['/a\\b'], ['/foo#bar']])(
    '400: refuses %s, which a URL parser would correct',
    async (path) => {
      expect(await all.ask({ path, withoutFetch: true })).toEqual(
        errorAnswer(400, 'BAD_REQUEST', 'The URL is malformed'),
      )
    },
  )

  it.each([['*'], ['host:80'], ['foo'], ['ftp://host/foo'], [''], ['/\u00e9'], ['/a b']])(
    '400: refuses the target %s',
    async (path) => {
      const answer = await all.app.inject({ path })
      expect([answer.status, await answer.json()]).toEqual([400, errorBody(400, 'BAD_REQUEST', 'The URL is malformed')])
    },
  )

  it.each([
    ['http://host/foo', 'foo:Default.GET'],
    ['HTTPS://host:1/foo?', 'foo:Default.GET'],
    ['http://host', ':Default.GET'],
  ])('200: accepts the absolute form %s', async (path, at) => {
    const answer = await all.ask({ path, withoutFetch: true })
    expect(JSON.parse(answer.body)).toEqual({ at, positionals: [], keywords: {} })
  })

  it('204: OPTIONS * lists the verbs of all URLs', async () => {
    expect(await all.ask({ method: 'OPTIONS', path: '*', withoutFetch: true })).toEqual({
      status: 204,
      headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS', 'x-request-id': 'test' },
      body: '',
    })
  })

  it('204: OPTIONS * lists only the verbs that exist when no class has ANY', async () => {
    class Default extends Controller {
      GET() {}
      PATCH() {}
    }
    const few = await everyInterface({ modules: { index: { Default } } })
    const { headers } = await few.ask({ method: 'OPTIONS', path: '*', withoutFetch: true })
    expect(headers).toEqual({ allow: 'GET, HEAD, PATCH, OPTIONS', 'x-request-id': 'test' })
    await few.close()
  })

  it.each([[`${longest}a`], ['/a'.repeat(129)]])('414: refuses %s', async (path) => {
    expect(await all.ask({ path })).toEqual(errorAnswer(414, 'URI_TOO_LONG', 'The URL is too long'))
  })

  it('200: accepts 1,000 keywords', async () => {
    const keywords = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, String(i)]))
    const body = new URLSearchParams(keywords).toString()
    const answer = await all.ask({ method: 'POST', path: '/', headers: form, body })
    const echoed = { at: ':Default.POST', positionals: [], keywords }
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, echoed])
  })
})

describe('options', () => {
  it('200: looseNames finds a URL in every spelling of its name', async () => {
    class CheBaz extends Controller {
      GET() {
        return 'che-baz'
      }
    }
    const loose = await everyInterface({ modules: { index: { CheBaz } }, looseNames: true })
    for (const path of ['/che-baz', '/che_baz', '/CHE-BAZ', '/CheBaz']) {
      expect(await loose.ask({ path })).toEqual(jsonAnswer(200, '"che-baz"'))
    }
    await loose.close()
  })

  it('200: allowEncodedSlash accepts slashes inside a positional', async () => {
    const slashes = await everyInterface({ modules, allowEncodedSlash: true })
    const answer = await slashes.ask({ path: '/foo/a%2Fb%5Cc' })
    expect(JSON.parse(answer.body)).toEqual({ at: 'foo:Default.GET', positionals: ['a/b\\c'], keywords: {} })
    expect(await slashes.ask({ path: '/%2e%2e', withoutFetch: true })).toEqual(
      errorAnswer(400, 'BAD_REQUEST', 'The URL is malformed'),
    )
    await slashes.close()
  })
})
