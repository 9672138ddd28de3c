import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorAnswer } from '../../test/whole-answers.ts'
import { Application, Controller, Forbidden } from '../endpoints.ts'

class Open extends Controller {
  static override cors = true
  GET() {
    return 'open'
  }
  POST(_id: string) {}
}

class Listed extends Controller {
  static override cors = {
    origins: ['https://a.example', 'https://b.example'],
    credentials: true,
    headers: ['X-A'],
    expose: ['X-B', 'X-C'],
    methods: ['GET'],
    maxAgeSeconds: 60,
  }
  static override use = [
    ({ request }: { request: { method: string } }) => {
      if (request.method === 'POST') throw new Forbidden()
    },
  ]
  GET() {
    return 'listed'
  }
  POST() {}
  OPTIONS() {
    return 'its own'
  }
}

class Closed extends Controller {
  static override cors = false
  GET() {
    return 'closed'
  }
}

class Plain extends Controller {
  GET() {
    return 'plain'
  }
}

class Inherited extends Listed {}

let own: EveryInterface
let everywhere: EveryInterface
beforeAll(async () => {
  own = await everyInterface({ modules: { index: { Open, Listed, Closed, Inherited } } })
  everywhere = await everyInterface({ modules: { index: { Closed, Plain } }, cors: true })
})
afterAll(async () => {
  await own.close()
  await everywhere.close()
})

const a = { origin: 'https://a.example' }
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-any' }

/** Returns the CORS headers of an answer. */
function corsHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^access-control|^vary$|^allow$/.test(name)))
}

describe('simple requests', () => {
  it.each([
    ['/open', a, { 'access-control-allow-origin': '*' }],
    ['/open', {}, {}],
    ['/closed', a, {}],
    [
      '/listed',
      a,
      {
        'access-control-allow-origin': 'https://a.example',
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'X-B, X-C',
        vary: 'Origin',
      },
    ],
    ['/listed', { origin: 'https://evil.example' }, { vary: 'Origin' }],
    ['/listed', {}, { vary: 'Origin' }],
    ['/inherited', { origin: 'null' }, { vary: 'Origin' }],
  ])('200: answers GET %s with %j by the headers %j', async (path, headers, expected) => {
    const answer = await own.ask({ path, headers: { ...headers } })
    expect(answer.status).toBe(200)
    expect(corsHeaders(answer.headers)).toEqual(expected)
  })

  it('403: the page can read errors too', async () => {
    const answer = await own.ask({ method: 'POST', path: '/listed', headers: a })
    expect(answer).toEqual(
      errorAnswer(403, 'INSUFFICIENT_PRIVILEGES', 'Access is refused', {
        'access-control-allow-credentials': 'true',
        'access-control-allow-origin': 'https://a.example',
        'access-control-expose-headers': 'X-B, X-C',
        vary: 'Origin',
      }),
    )
  })

  it.each([
    ['/nowhere', 404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'],
    ['/plain/x', 404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'],
    ['/%zz', 400, 'BAD_REQUEST', 'The URL is malformed'],
  ])('an error without a controller obeys the application: %s', async (path, status, ...[type, description]) => {
    const answer = await everywhere.ask({ path, headers: a })
    expect(answer).toEqual(errorAnswer(status, type, description, { 'access-control-allow-origin': '*' }))
  })

  it('a class may refuse origins that the application allows', async () => {
    expect(corsHeaders((await everywhere.ask({ path: '/plain', headers: a })).headers)).not.toEqual({})
    expect(corsHeaders((await everywhere.ask({ path: '/closed', headers: a })).headers)).toEqual({})
  })
})

describe('preflight', () => {
  it('204: allows the methods of the URL', async () => {
    const answer = await own.ask({ method: 'OPTIONS', path: '/open/7', headers: { ...a, ...preflight } })
    expect([answer.status, corsHeaders(answer.headers)]).toEqual([
      204,
      {
        allow: 'POST, OPTIONS',
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers': 'x-any',
        'access-control-max-age': '3600',
        vary: 'Access-Control-Request-Headers',
      },
    ])
  })

  it('204: answers as configured, before guards and before a handler of OPTIONS', async () => {
    const answer = await own.ask({ method: 'OPTIONS', path: '/listed', headers: { ...a, ...preflight } })
    expect([answer.status, corsHeaders(answer.headers)]).toEqual([
      204,
      {
        allow: 'GET, HEAD, POST, OPTIONS',
        'access-control-allow-origin': 'https://a.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'X-A',
        'access-control-expose-headers': 'X-B, X-C',
        'access-control-max-age': '60',
        vary: 'Origin',
      },
    ])
  })

  it('403: refuses a foreign origin', async () => {
    const headers = { origin: 'https://evil.example', ...preflight }
    const answer = await own.ask({ method: 'OPTIONS', path: '/listed', headers })
    expect(answer).toEqual(
      errorAnswer(403, 'INSUFFICIENT_PRIVILEGES', 'This origin is not allowed', { vary: 'Origin' }),
    )
  })

  it.each([
    ['/open', a, 204, ''],
    ['/open', preflight, 204, ''],
    ['/listed', a, 200, '"its own"'],
    ['/closed', { ...a, ...preflight }, 204, ''],
  ])('OPTIONS %s with %j is no preflight', async (path, headers, ...[status, body]) => {
    const answer = await own.ask({ method: 'OPTIONS', path, headers: { ...headers } })
    expect([answer.status, answer.body]).toEqual([status, body])
    expect(answer.headers).not.toHaveProperty('access-control-allow-methods')
  })

  it('404: refuses a URL that does not exist', async () => {
    const answer = await everywhere.ask({ method: 'OPTIONS', path: '/nowhere', headers: { ...a, ...preflight } })
    const headers = { 'access-control-allow-origin': '*' }
    expect(answer).toEqual(errorAnswer(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL', headers))
  })
})

it.each([[{ credentials: true }], [{ origins: ['*'], credentials: true }]])('refuses %j', (cors) => {
  expect(() => new Application({ modules: {}, cors })).toThrow('needs a list of origins')
})
