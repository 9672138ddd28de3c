import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { portOf } from '../../test/start.ts'
import { errorAnswer, jsonAnswer } from '../../test/whole-answers.ts'
import { Application, accepts, Controller } from '../endpoints.ts'
import { generateRequestId } from './endpoint-request.ts'

class Requests extends Controller {
  GET_version(type = '*/*') {
    return [this.request.version(type), this.request.version()]
  }

  static GET_versions = accepts({ version: ['v1', 'v2'] })
  GET_versions() {
    return 'served'
  }

  GET_href() {
    return this.request.url.href
  }

  GET_accepts() {
    return this.request.accepts('application/json', 'text/html') ?? null
  }

  GET_auth() {
    return this.request.auth() ?? null
  }

  GET_query({ ...keywords }) {
    const { method, path, query, route } = this.request
    return { method, path, query, keywords, route }
  }

  GET_urls(id: string, { x = '' }) {
    const { url } = this.request
    return [
      url.pathname + url.search,
      url.module('a b', 7, { page: 2, none: undefined, tag: ['x', 'y'] }).pathname,
      x,
      id,
    ].concat(url.controller('é', { q: true }).href.replace(url.origin, ''))
  }

  GET_headers() {
    return [this.request.headers.get('x-a'), this.request.header('x-a') ?? null]
  }

  GET_ip() {
    return this.request.ip
  }

  GET_origin() {
    return this.request.url.origin
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { 'deep/module': { Requests } }, allowEncodedSlash: true })
})
afterAll(() => all.close())

const get = async (name: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> =>
  JSON.parse((await all.ask({ path: `/deep/module/requests/${name}`, headers })).body)

describe('version', () => {
  it.each([
    ['', '', ''],
    ['application/json', '', ''],
    ['application/json;version=v1', 'v1', 'v1'],
    ['*/*;version=v8', 'v8', 'v8'],
    ['text/html;version=v2, application/json;version=v1', 'v1', 'v2'],
    ['application/json;version=v1;q=0.5, application/json;version=v2;q=0.9', 'v2', 'v2'],
    ['*/*;version=v1, application/*;version=v2, application/json;version=v3', 'v3', 'v3'],
    ['application/json;version=v1, application/json;version=v2;x=y', 'v2', 'v2'],
    ['application/json;version=v1;q=0', '', ''],
    ['nonsense;version=v1', '', ''],
    ['*/*;q=2;version=v1, application/json;q=0.1;broken;version="v2"', 'v2', 'v2'],
  ])('of "%s" is "%s" for JSON and "%s" for anything', async (accept, ofJson, ofAny) => {
    const answer = await all.ask({ path: '/deep/module/requests/version/application%2Fjson', headers: { accept } })
    expect(JSON.parse(answer.body)).toEqual([ofJson, ofAny])
    expect(answer.headers).toEqual({
      vary: 'Accept',
      'content-length': expect.any(String),
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'test',
    })
  })

  it.each([[''], ['*/*'], ['*/*;version=v1'], ['*/*;version=v2']])(
    '200: serves a declared version, asked as "%s"',
    async (accept) => {
      const answer = await all.ask({ path: '/deep/module/requests/versions', headers: { accept } })
      expect(answer).toEqual(jsonAnswer(200, '"served"', { vary: 'Accept' }))
    },
  )

  it('406: refuses another version', async () => {
    const headers = { accept: '*/*;version=v3' }
    const text = 'No version of this resource is acceptable to the client'
    expect(await all.ask({ path: '/deep/module/requests/versions', headers })).toEqual(
      errorAnswer(406, 'NOT_ACCEPTABLE', text, { vary: 'Accept' }),
    )
  })
})

it.each([
  ['', 'application/json'],
  ['text/*', 'text/html'],
  ['text/html, application/json;q=0.9', 'text/html'],
  ['*/*', 'application/json'],
  ['image/png', null],
  ['application/json;q=0, text/html;q=0.1', 'text/html'],
])('accepts: of "%s" the best is %s', async (accept, expected) => {
  expect(await get('accepts', { accept })).toBe(expected)
})

it.each([
  ['', null],
  ['Basic YTpi', { scheme: 'basic', token: 'YTpi', username: 'a', password: 'b' }],
  ['BASIC YTpiOmM=', { scheme: 'basic', token: 'YTpiOmM=', username: 'a', password: 'b:c' }],
  ['Bearer abc', { scheme: 'bearer', token: 'abc' }],
  ['Digest a=b, c=d', { scheme: 'digest', token: 'a=b, c=d' }],
  ['Bearer', null],
  ['Basic !', null],
])('auth: reads the credentials of "%s"', async (authorization, expected) => {
  expect(await get('auth', authorization === '' ? {} : { authorization })).toEqual(expected)
})

it('shows path, query and route', async () => {
  const response = await all.app.inject({ path: '/deep//module/requests/query?a=1&a=2&b=%20' })
  expect(await response.json()).toEqual({
    method: 'GET',
    path: '/deep//module/requests/query',
    query: { a: ['1', '2'], b: ' ' },
    keywords: { a: ['1', '2'], b: ' ' },
    route: {
      module: 'deep.module',
      className: 'Requests',
      handler: 'GET_query',
      pattern: '/deep/module/requests/query',
      positionals: [],
      allow: ['GET', 'HEAD', 'OPTIONS'],
    },
  })
})

it('builds URLs below the module and the class', async () => {
  const response = await all.app.inject({ path: '/deep/module/requests/urls/5?x=1' })
  expect(await response.json()).toEqual([
    '/deep/module/requests/urls/5?x=1',
    '/deep/module/a%20b/7',
    '1',
    '5',
    '/deep/module/requests/urls/%C3%A9?q=true',
  ])
})

it('gives the value of a header, and null or undefined for an absent one', async () => {
  expect(await get('headers', { 'x-a': 'b' })).toEqual(['b', 'b'])
  expect(await get('headers')).toEqual([null, null])
})

describe('request id', () => {
  it.each([['abc.DEF_1-2'], ['x'.repeat(64)]])('echoes %s', async (id) => {
    const answer = await all.ask({ path: '/nowhere/x', headers: { 'x-request-id': id } })
    expect(answer.headers).toEqual({
      'x-request-id': id,
      'content-length': '101',
      'content-type': 'application/json; charset=utf-8',
    })
  })

  it.each([['a b'], ['x'.repeat(65)], ['ü'], ['']])('does not echo "%s"', async (id) => {
    const response = await all.app.inject({ path: '/', headers: { 'x-request-id': id } })
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  })

  it('has the name that is configured', async () => {
    const other = await everyInterface({ modules: { index: {} }, requestIdHeader: 'X-Trace' })
    expect((await other.ask({ path: '/', headers: { 'x-trace': 't1' } })).headers).toEqual({
      'x-trace': 't1',
      'content-length': '101',
      'content-type': 'application/json; charset=utf-8',
    })
    await other.close()
  })
})

describe('behind proxies', () => {
  const forwarded = {
    'x-forwarded-for': '6.6.6.6, 1.1.1.1, 2.2.2.2',
    'x-forwarded-host': 'evil, public.example, proxy.example',
    'x-forwarded-proto': 'ftp, https, http',
    host: 'inner.example',
  }
  it.each([
    [false, '127.0.0.1', 'http://inner.example'],
    [true, '2.2.2.2', 'http://proxy.example'],
    [2, '1.1.1.1', 'https://public.example'],
    [9, '6.6.6.6', 'http://evil'],
  ])('trustProxy %s takes %s for the client, and builds URLs with %s', async (trustProxy, ip, origin) => {
    const { app, close } = await everyInterface({ modules: { index: { Requests } }, trustProxy })
    const ask = async (name: string) => (await app.inject({ path: `/requests/${name}`, headers: forwarded })).json()
    expect([await ask('ip'), await ask('origin')]).toEqual([ip, origin])
    await close()
  })

  it.each(['a/b?c#d@e', 'a?b', 'a#b', 'a@b', 'a\\b', 'a b'])(
    'takes no path, query or user from the host %s',
    async (host) => {
      const app = await new Application({ modules: { index: { Requests } }, trustProxy: true }).ready()
      const server = createServer(app.listener).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const href = async (headers: Readonly<Record<string, string>>) => {
        const port = portOf(server)
        const [response] = await once(request({ port, path: '/requests/href', headers }).end(), 'response')
        return new Response(Readable.toWeb(response)).json()
      }
      const hrefs = [await href({ host }), await href({ host: 'good.example:8080', 'x-forwarded-host': host })]
      expect(hrefs).toEqual(['http://localhost/requests/href', 'http://localhost/requests/href'])
      expect(await href({ host: '[::1]:8080' })).toBe('http://[::1]:8080/requests/href')
      server.close()
    },
  )
})

describe('generateRequestId', () => {
  it('returns UUIDs, each of them once', () => {
    const ids = Array.from({ length: 20_000 }, generateRequestId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(
      ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toEqual([])
  })

  it('draws new random bits when the counter is used up', () => {
    const draws = new Set(Array.from({ length: 3 * 4_096 }, () => generateRequestId().slice(0, -3)))
    expect([3, 4]).toContain(draws.size)
  })
})
