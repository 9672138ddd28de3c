import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Application, type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { type Ask, type EveryInterface, everyInterface } from './every-interface.ts'
import { errorAnswer, errorBody, issueBody, jsonAnswer } from './whole-answers.ts'

const NOTHING_HERE = 'There is nothing at this URL'

const reflected = {
  None: class extends Controller {
    GET() {
      return []
    }
  },
  Required: class extends Controller {
    GET(a: string, b: string) {
      return [a, b]
    }
  },
  Optional: class extends Controller {
    GET(a: string, b = 'B') {
      return [a, b]
    }
  },
  Rest: class extends Controller {
    GET(a: string, ...more: string[]) {
      return [a, more]
    }
  },
  Keywords: class extends Controller {
    POST({ a, b = 'B' }: { a: string; b?: string }) {
      return { a, b }
    }
  },
  Open: class extends Controller {
    ANY({ a = 'A', ...more }) {
      return { a, more }
    }
  },
  Middle: class extends Controller {
    GET(a = 'A', { k = 'K' } = {}, ...more: string[]) {
      return [a, k, more]
    }
  },
  Renamed: class extends Controller {
    GET({ 'a-b': c = 'C', d: { e } = { e: 'E' } }) {
      return [c, e]
    }
  },
}

class Declared extends Controller {
  static GET = accepts({
    path: [p.int({ min: 1 }).optional()],
    keywords: z.object({ limit: p.int({ min: 1, max: 500 }).default(50), tags: p.list(z.string()).optional() }),
  })
  GET(...[id, { limit, tags }]: Args<typeof Declared.GET>) {
    return { id: id ?? null, limit, tags: tags ?? null }
  }

  static GET_rest = accepts({ path: [p.int()], rest: p.bool() })
  GET_rest(...[first, rest, keywords]: Args<typeof Declared.GET_rest>) {
    return [first, rest, keywords]
  }

  static GET_loose = accepts({ keywords: z.looseObject({ a: p.int() }) })
  GET_loose(...[keywords]: Args<typeof Declared.GET_loose>) {
    return keywords
  }

  static GET_alias = accepts({
    keywords: z.object({ user_ids: p.list(p.int()).optional() }),
    aliases: { 'user_ids[]': 'user_ids' },
  })
  GET_alias(...[{ user_ids }]: Args<typeof Declared.GET_alias>) {
    return user_ids ?? null
  }

  static POST_items = accepts({ path: [p.int()], rest: p.int(), body: 'positionals' })
  POST_items(...[first, rest]: Args<typeof Declared.POST_items>) {
    return [first, ...rest]
  }

  static POST_text = accepts({ path: [z.string()], body: 'positionals' })
  POST_text(...[text]: Args<typeof Declared.POST_text>) {
    return text
  }

  static POST_raw = accepts({ body: 'raw', keywords: z.object({ q: z.string().optional() }) })
  async POST_raw(...[{ q }]: Args<typeof Declared.POST_raw>) {
    return [q ?? null, await this.request.text()]
  }

  static POST_lookup = accepts({
    keywords: z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') }),
  })
  POST_lookup(...[{ name }]: Args<typeof Declared.POST_lookup>) {
    return name
  }

  static POST_strict = accepts({ keywords: z.strictObject({ a: z.strictObject({ b: z.string() }) }) })
  POST_strict(...[{ a }]: Args<typeof Declared.POST_strict>) {
    return a
  }

  static POST_small_raw = accepts({ body: 'raw', bodyLimit: 10 })
  async POST_small_raw() {
    return (await this.request.bytes()).byteLength
  }

  static POST_files = accepts({ keywords: z.looseObject({}), bodyLimit: 20 * 1024 * 1024 })
  POST_files(...[keywords]: Args<typeof Declared.POST_files>) {
    return Object.keys(keywords).length
  }

  static POST_small = accepts({ keywords: z.object({ a: z.string() }), bodyLimit: 10 })
  POST_small(...[{ a }]: Args<typeof Declared.POST_small>) {
    return a
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { index: { ...reflected, Declared } } })
})
afterAll(() => all.close())

async function ask(ask: Ask): Promise<readonly [number, unknown]> {
  const { status, body } = await all.ask(ask)
  return [status, body === '' ? undefined : JSON.parse(body)]
}

const json = (body: unknown, type = 'application/json') => ({
  method: 'POST',
  headers: { 'content-type': type },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const form = (body: string) => json(body, 'application/x-www-form-urlencoded')

describe('undeclared handlers', () => {
  it.each([
    ['/none', []],
    ['/required/1/2', ['1', '2']],
    ['/optional/1', ['1', 'B']],
    ['/optional/1/2', ['1', '2']],
    ['/rest/1', ['1', []]],
    ['/rest/1/2/3', ['1', ['2', '3']]],
    ['/middle', ['A', 'K', []]],
    ['/middle/1?k=2', ['1', '2', []]],
    ['/middle/1/2/3?k=4', ['1', '4', ['2', '3']]],
    ['/open?a=1&b=2&b=3', { a: '1', more: { b: ['2', '3'] } }],
    ['/open?a&b=&=c', { a: '', more: { b: '', '': 'c' } }],
    ['/open?b=%C3%A9+%2B', { a: 'A', more: { b: 'é +' } }],
    ['/renamed?a-b=1', ['1', 'E']],
  ])('200: binds the arguments of GET %s', async (path, body) => {
    expect(await ask({ path })).toEqual([200, body])
  })

  it.each([
    ['/none/1', NOTHING_HERE],
    ['/required/1', `${NOTHING_HERE}; GET answers /required/{a}/{b}`],
    ['/required/1/2/3', NOTHING_HERE],
    ['/optional', `${NOTHING_HERE}; GET answers /optional/{a}`],
    ['/optional/1/2/3', NOTHING_HERE],
    ['/rest', `${NOTHING_HERE}; GET answers /rest/{a}`],
    ['/none/1?x=1', NOTHING_HERE],
  ])('404: refuses GET %s, with a number of positionals that no handler accepts: %s', async (path, description) => {
    expect(await ask({ path })).toEqual([404, errorBody(404, 'RESOURCE_NOT_FOUND', description)])
  })

  it.each([
    ['/none?x=1', issueBody('x', 'is not known here')],
    ['/renamed?A-B=1', issueBody('A-B', 'is not known here; did you mean a-b?')],
    ['/renamed?c=1', issueBody('c', 'is not known here')],
  ])('400: refuses GET %s, with a keyword that the handler does not accept', async (path, body) => {
    expect(await ask({ path })).toEqual([400, body])
  })

  it('400: refuses a call without a required keyword', async () => {
    expect(await ask({ method: 'POST', path: '/keywords' })).toEqual([400, issueBody('a', 'is required')])
  })

  it('400: lists at most 20 issues, and shortens long ones', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `${'x'.repeat(80)}${i}`)
    const issues = Array.from({ length: 20 }, () => ({ path: 'x'.repeat(64), message: 'is not known here' }))
    const error = { type: 'VALIDATION_ERROR', description: `${'x'.repeat(64)}: is not known here`, issues }
    expect(await ask({ path: `/none?${names.join('&')}` })).toEqual([400, { statusCode: 400, error }])
  })
})

describe('bodies', () => {
  it.each([
    ['a form', form('a=1&b=2'), { a: '1', b: '2' }],
    ['JSON, values as they are', json({ a: { deep: [1, true] }, b: null }), { a: { deep: [1, true] }, b: null }],
    ['+json', json({ a: 1 }, 'application/vnd.x+json'), { a: 1, b: 'B' }],
    ['a charset that is UTF-8', json({ a: 'é' }, 'application/json; charset="UTF-8"'), { a: 'é', b: 'B' }],
  ])('200: reads $0 as the keywords $2', async (_case, request, body) => {
    expect(await ask({ ...request, path: '/keywords' })).toEqual([200, body])
  })

  // ASVS 15.3.7
  it('200: the body wins over the query, key by key', async () => {
    const answer = await ask({ ...form('a=body'), path: '/keywords?a=query&b=query' })
    expect(answer).toEqual([200, { a: 'body', b: 'query' }])
  })

  it('200: ignores the body of GET, and reads that of DELETE', async () => {
    const body = { headers: { 'content-type': 'application/json' }, body: '{"a":"body"}' }
    expect(await ask({ path: '/open', ...body, withoutFetch: true })).toEqual([200, { a: 'A', more: {} }])
    expect(await ask({ method: 'DELETE', path: '/open', ...body })).toEqual([200, { a: 'body', more: {} }])
  })

  it.each([
    ['no media type', { method: 'POST', body: 'a=1', headers: { 'content-type': '' } }],
    ['another media type', json('<a/>', 'application/xml')],
    ['plain text', json('a', 'text/plain')],
    ['another charset', json({ a: 1 }, 'application/json; charset=latin1')],
    ['an encoding', { ...json({ a: 1 }), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }],
    ['a broken media type', json({ a: 1 }, 'json')],
  ])('415: refuses %s', async (_case, request) => {
    const description = 'The media type, charset or encoding of the body is not supported'
    expect(await ask({ ...request, path: '/keywords' })).toEqual([
      415,
      errorBody(415, 'UNSUPPORTED_MEDIA_TYPE', description),
    ])
  })

  const deep = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

  it.each([
    ['broken JSON', 'The body is no JSON', json('{"a":1')],
    ['JSON that is no object', 'The body must be a JSON object', json('[1]')],
    ['a JSON text', 'The body must be a JSON object', json('"a"')],
    [
      'JSON that is not UTF-8',
      'The body is not UTF-8',
      { ...json(''), body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]) },
    ],
    ['__proto__ in JSON', 'The body has a key with a forbidden name', json('{"a":1,"__proto__":{"x":1}}')],
    ['__proto__ far inside', 'The body has a key with a forbidden name', json('{"a":[{"b":{"__proto__":1}}]}')],
    ['__proto__ with escapes', 'The body has a key with a forbidden name', json('{"a":{"\\u005f_proto__":1}}')],
    [
      'constructor.prototype',
      'The body has a key with a forbidden name',
      json('{"a":{"constructor":{"prototype":{}}}}'),
    ],
    ['65 levels', 'The body is nested deeper than 64 levels', json(deep(65))],
    ['200,000 levels', 'The body is nested deeper than 64 levels', json(deep(200_000))],
    ['a broken form', 'The URL is malformed', form('a=%zz')],
    ['__proto__ in a form', 'A keyword has a forbidden name', form('a=1&__proto__=1')],
    ['too many keys in a form', 'There are more than 1000 keywords', form('a=1&'.repeat(1_001))],
    ['broken multipart', 'The body is no multipart form', json('--x', 'multipart/form-data; boundary=y')],
    ['multipart without a boundary', 'The body is no multipart form', json('--x', 'multipart/form-data')],
  ])('400: refuses %s: %s', async (_case, description, request) => {
    expect(await ask({ ...request, path: '/keywords' })).toEqual([400, errorBody(400, 'BAD_REQUEST', description)])
  })

  it('200: accepts 64 levels, and a key constructor with harmless values', async () => {
    expect((await ask({ ...json(deep(64)), path: '/keywords' }))[0]).toBe(200)
    const harmless = { a: { constructor: 'x' }, b: { constructor: { name: 'y' } } }
    expect(await ask({ ...json(harmless), path: '/keywords' })).toEqual([200, harmless])
  })

  it('413: refuses a body over the limit, and closes the connection', async () => {
    const limit = 1024 * 1024
    const small = json(JSON.stringify({ a: 'x'.repeat(limit - 8) }))
    expect(small.body.length).toBe(limit)
    expect((await ask({ ...small, path: '/keywords' }))[0]).toBe(200)
    const answer = await ask({ ...json(`${small.body} `), path: '/keywords' })
    const tooLarge = (bytes: number) => [
      413,
      errorBody(413, 'PAYLOAD_TOO_LARGE', `The body is larger than ${bytes} bytes`),
    ]
    expect(answer).toEqual(tooLarge(1_048_576))
    expect(await ask({ ...json({ a: 'abc' }), path: '/declared/small' })).toEqual(tooLarge(10))
    expect(await ask({ ...json({ a: 'ab' }), path: '/declared/small' })).toEqual([200, 'ab'])
    expect(await ask({ ...json('0123456789'), path: '/declared/small-raw' })).toEqual([200, 10])
    expect(await ask({ ...json('0123456789a'), path: '/declared/small-raw' })).toEqual(tooLarge(10))
  })

  const part = (name: string, text: string, more = '') =>
    `--X\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`

  it.each([
    ['100 parts', Array.from({ length: 100 }, (_, i) => part(`a${i}`, '')), [200, 100]],
    ['101 parts', Array.from({ length: 101 }, (_, i) => part(`a${i}`, '')), [413, undefined]],
    ['a field of 1 MiB', [part('a', 'x'.repeat(2 ** 20))], [200, 1]],
    ['a larger field', [part('a', `${'x'.repeat(2 ** 20)}x`)], [413, undefined]],
    ['a field of as many characters, but more bytes', [part('a', 'é'.repeat(2 ** 20))], [413, undefined]],
    ['a file of 10 MiB', [part('a', 'x'.repeat(10 * 2 ** 20), '; filename="f"')], [200, 1]],
    ['a larger file', [part('a', `${'x'.repeat(10 * 2 ** 20)}x`, '; filename="f"')], [413, undefined]],
    ['a forbidden name', [part('__proto__', 'x')], [400, undefined]],
  ])('reads or refuses a multipart form with %s', async (_case, parts, expected) => {
    const request = json(`${parts.join('')}--X--\r\n`, 'multipart/form-data; boundary=X')
    const [status, answer] = await ask({ ...request, path: '/declared/files' })
    expect([status, status === 200 ? answer : undefined]).toEqual(expected)
  })

  it('200: reads fields and files of a multipart form', async () => {
    const parts = [
      '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\ntext\r\n',
      '--X\r\nContent-Disposition: form-data; name="f"; filename="n.txt"\r\nContent-Type: text/plain\r\n\r\nfile\r\n--X--\r\n',
    ]
    const request = json(parts.join(''), 'multipart/form-data; boundary=X')
    expect(await ask({ ...request, path: '/open' })).toEqual([200, { a: 'text', more: { f: {} } }])
  })
})

describe('declared handlers', () => {
  it.each([
    ['/declared', { id: null, limit: 50, tags: null }],
    ['/declared/7?limit=500&tags=a,b&tags=c', { id: 7, limit: 500, tags: ['a', 'b', 'c'] }],
    ['/declared/rest/1', [1, [], {}]],
    ['/declared/rest/-1/yes/off', [-1, [true, false], {}]],
    ['/declared/loose?a=1&b=2', { a: 1, b: '2' }],
    ['/declared/alias?user_ids[]=1&user_ids[]=2', [1, 2]],
    ['/declared/alias?user_ids[]=1&user_ids=2', [2]],
    ['/declared/alias', null],
  ])('200: binds the arguments of GET %s', async (path, body) => {
    expect(await ask({ path })).toEqual([200, body])
  })

  it.each([
    ['/declared/0', 'path[0]', 'must be at least 1'],
    ['/declared/x', 'path[0]', 'must be a whole number'],
    ['/declared?limit=501', 'limit', 'must be at most 500'],
    ['/declared?limit=1&limit=2', 'limit', 'must be a whole number'],
    ['/declared?other=1', 'other', 'is not known here'],
    ['/declared?limt=1', 'limt', 'is not known here; did you mean limit?'],
    ['/declared/rest/1/yes/maybe', 'path[2]', 'must be true or false'],
    ['/declared/loose?b=1', 'a', 'is required'],
    ['/declared/alias?user_ids=1,x', 'user_ids.1', 'must be a whole number'],
  ])('400: refuses GET %s, and says %s %s', async (path, wrong, message) => {
    expect(await ask({ path })).toEqual([400, issueBody(wrong, message)])
  })

  it('400: names the keywords that strict schemas do not know', async () => {
    const issues = [
      { path: 'a.c', message: 'is not known here' },
      { path: 'd', message: 'is not known here' },
    ]
    const answer = await ask({ ...json({ a: { b: '', c: 1 }, d: 1 }), path: '/declared/strict' })
    expect(answer).toEqual([
      400,
      { error: { issues, type: 'VALIDATION_ERROR', description: 'a.c: is not known here' }, statusCode: 400 },
    ])
  })

  it.each([
    ['/declared/7/8', NOTHING_HERE],
    ['/declared/rest', `${NOTHING_HERE}; GET answers /declared/rest/{first}`],
    ['/declared/loose/1', NOTHING_HERE],
  ])('404: finds no handler for GET %s: %s', async (path, description) => {
    expect(await ask({ path })).toEqual([404, errorBody(404, 'RESOURCE_NOT_FOUND', description)])
  })

  it.each([
    [200, '/declared/items', json('[1,2,3]'), [1, 2, 3]],
    [200, '/declared/items/0', json('[1]'), [0, 1]],
    [200, '/declared/items', json('4'), [4]],
    [400, '/declared/items', json('[]'), issueBody('path[0]', 'is required')],
    [400, '/declared/items', json('["x"]'), issueBody('path[0]', 'must be a whole number')],
    [200, '/declared/text', json('plain', 'text/plain'), 'plain'],
    [400, '/declared/text', json('["a","b"]'), issueBody('path[1]', 'is not expected')],
    [404, '/declared/text/a/b', json('[]'), errorBody(404, 'RESOURCE_NOT_FOUND', NOTHING_HERE)],
  ])('%i: answers POST %s with %j', async (status, path, request, body) => {
    expect(await ask({ ...request, path })).toEqual([status, body])
  })

  it('200: leaves a raw body to the handler', async () => {
    const request = json('{"a":', 'application/json')
    expect(await ask({ ...request, path: '/declared/raw?q=1' })).toEqual([200, ['1', '{"a":']])
  })

  it.each([[''], ['json'], ['a b/c'], ['image']])('200: accepts a raw body whose media type is "%s"', async (type) => {
    expect(await ask({ ...json('x', type), path: '/declared/raw' })).toEqual([200, [null, 'x']])
    expect(await ask({ ...json('', type), path: '/open' })).toEqual([200, { a: 'A', more: {} }])
  })

  it('400: refuses a value that an asynchronous schema refuses', async () => {
    expect(await ask({ ...json({ name: 'free' }), path: '/declared/lookup' })).toEqual([200, 'free'])
    const answer = await ask({ ...json({ name: 'taken' }), path: '/declared/lookup' })
    expect(answer).toEqual([
      400,
      {
        error: {
          description: 'name: is taken',
          type: 'VALIDATION_ERROR',
          issues: [{ path: 'name', message: 'is taken' }],
        },
        statusCode: 400,
      },
    ])
  })
})

describe('a list of declarations', () => {
  class Items extends Controller {
    static GET = [
      accepts({ keywords: z.object({ limit: p.int().default(50) }) }),
      accepts({ path: [p.int(), z.string().optional()], names: ['itemId', 'part'], status: 203 }),
    ]
    GET(...args: Args<typeof Items.GET>) {
      return args.length === 1 ? { limit: args[0].limit } : { id: args[0], part: args[1] }
    }
  }

  it('chooses by the number of positionals', async () => {
    const app = await everyInterface({ modules: { index: { Items } } })
    expect(await app.ask({ path: '/items?limit=5' })).toEqual(jsonAnswer(200, '{"limit":5}'))
    expect(await app.ask({ path: '/items/7/b' })).toEqual(jsonAnswer(203, '{"id":7,"part":"b"}'))
    expect(await app.ask({ path: '/items/7?limit=5' })).toEqual(
      jsonAnswer(
        400,
        '{"statusCode":400,"error":{"type":"VALIDATION_ERROR","description":"limit: is not known here","issues":[{"path":"limit","message":"is not known here"}]}}',
      ),
    )
    expect(await app.ask({ path: '/items/7/8/9' })).toEqual(
      errorAnswer(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'),
    )
    const { body } = await app.ask({ path: '/items/x' })
    expect(JSON.parse(body).error.issues).toEqual([{ path: 'itemId', message: 'must be a whole number' }])
    expect(app.app.routes().map(({ verb, pattern }) => `${verb} ${pattern}`)).toEqual([
      'GET /items',
      'GET /items/{itemId}/{part}',
    ])
    await app.close()
  })

  it('is refused with two declarations for one number', async () => {
    class Twice extends Controller {
      static GET = [accepts({ path: [z.string().optional()] }), accepts({ path: [p.int()] })]
      GET() {}
    }
    const app = new Application({ modules: { index: { Twice } } })
    await expect(app.ready()).rejects.toThrow('Twice.GET has two declarations for one number of positionals')
  })

  it('is refused without a handler, like one declaration', async () => {
    class Items extends Controller {
      static GET = [accepts({})]
    }
    await expect(new Application({ modules: { index: { Items } } }).ready()).rejects.toThrow('no such handler')
  })
})

describe('the option json', () => {
  class Echo extends Controller {
    POST({ n }: { n: unknown }) {
      return { n }
    }
  }
  let exact: EveryInterface
  beforeAll(async () => {
    exact = await everyInterface({
      modules: { index: { Echo } },
      json: {
        parse: (text) =>
          JSON.parse(text, (_key, value, context?: { source: string }) =>
            typeof value === 'number' ? BigInt(context?.source ?? value) : value,
          ),
        stringify: (value) =>
          `${JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? `big ${item}` : item))}\n`,
      },
    })
  })
  afterAll(() => exact.close())

  it('200: replaces the reader and the writer of JSON', async () => {
    const { body } = await exact.ask({ ...json('{"n":90071992547409931}'), path: '/echo' })
    expect(body).toBe('{"n":"big 90071992547409931"}\n')
  })

  it('400: does not let a key with a forbidden name pass', async () => {
    const error = { type: 'BAD_REQUEST', description: 'The body has a key with a forbidden name' }
    expect(await exact.ask({ ...json('{"n":1,"__proto__":1}'), path: '/echo' })).toEqual(
      jsonAnswer(400, `${JSON.stringify({ statusCode: 400, error })}\n`),
    )
  })
})
