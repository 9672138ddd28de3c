import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AccessDenied,
  Application,
  CallError,
  CallStop,
  Controller,
  fastifyOptions,
  Redirect,
} from '../src/endpoints.ts'
import { type EveryInterface, everyInterface } from './every-interface.ts'
import { errorAnswer, jsonAnswer } from './whole-answers.ts'

class Named extends Controller {
  static override cors = true

  GET({ header, value }: { header: string; value: string }) {
    this.response.headers.set(header, value)
    return 1
  }
  GET_bytes({ header, value }: { header: string; value: string }) {
    this.response.headers.set(header, value)
    return new Uint8Array(3)
  }
  async *GET_items({ header, value }: { header: string; value: string }) {
    this.response.headers.set(header, value)
    yield 1
  }
  GET_type({ value }: { value: string }) {
    this.response.type = value
    return 'text'
  }
  GET_response({ header, value }: { header: string; value: string }) {
    return new Response('text', { headers: { [header]: value } })
  }
  GET_stop({ header, value }: { header: string; value: string }) {
    throw new CallStop(202, 1, { [header]: value })
  }
  GET_error({ header, value }: { header: string; value: string }) {
    throw new CallError(404, 'gone', { headers: { [header]: value } })
  }
  GET_denied({ value }: { value: string }) {
    throw new AccessDenied('no', { realm: value })
  }
  POST_redirect({ value }: { value: string }) {
    throw new Redirect(value)
  }
}

const faults: string[] = []
let all: EveryInterface
beforeAll(async () => {
  const log = { warn: () => {}, error: (fault: unknown) => void faults.push(String(fault)) }
  all = await everyInterface({ modules: { index: { Named } }, log })
})
afterAll(() => all.close())

describe('a header', () => {
  const handlers = ['', '/bytes', '/items', '/response', '/stop', '/error']
  const values = [
    ['content-disposition', 'attachment; filename="caf\u00e9.pdf"'],
    ['content-disposition', 'attachment; filename="\u20ac.pdf"'],
    ['x-name', 'caf\u00e9'],
    ['x-name', '\u0080'],
    ['x-name', '\u00ff'],
    ['x-name', '\u{1f600}'],
  ] as const
  it.each(handlers.flatMap((handler) => values.map((value) => [handler, ...value] as const)))(
    '500: of /named%s is refused when %s is %s',
    async (handler, header, value) => {
      expect(await all.ask({ path: `/named${handler}?${new URLSearchParams({ header, value })}` })).toEqual(
        errorAnswer(500, 'SERVER_ERROR', 'An unexpected error occurred'),
      )
    },
  )

  it('500: is refused when a media type holds a character beyond ASCII', async () => {
    expect(await all.ask({ path: '/named/type?value=text/plain;%20x=%C3%A9' })).toEqual(
      errorAnswer(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    )
  })

  it('500: is named by the log, without its value', async () => {
    faults.length = 0
    await all.app.inject({ path: '/named?header=x-name&value=caf%C3%A9' })
    expect(faults).toEqual(['TypeError: the header x-name holds a character that is not printable ASCII'])
  })

  it('200: names a file by RFC 8187', async () => {
    const disposition = "attachment; filename*=UTF-8''caf%C3%A9.pdf"
    const query = new URLSearchParams({ header: 'content-disposition', value: disposition })
    expect(await all.ask({ path: `/named?${query}` })).toEqual(
      jsonAnswer(200, '1', { 'content-disposition': disposition }),
    )
  })
})

describe('a header of the framework', () => {
  it('401: encodes what a realm cannot hold', async () => {
    expect(await all.ask({ path: '/named/denied?value=Caf%C3%A9%20%22%E2%82%AC%22' })).toEqual(
      errorAnswer(401, 'UNAUTHENTICATED', 'no', { 'www-authenticate': 'Auth realm="Caf%C3%A9 \\"%E2%82%AC\\""' }),
    )
  })

  it('302: encodes what a location cannot hold, half a character too', async () => {
    const headers = { 'content-type': 'application/json' }
    const body = '{"value":"/caf\u00e9 \\ud800"}'
    expect(await all.ask({ method: 'POST', path: '/named/redirect', headers, body })).toEqual({
      status: 302,
      headers: { location: '/caf%C3%A9%20%EF%BF%BD', 'content-length': '0', 'x-request-id': 'test' },
      body: '',
    })
  })

  it('204: allows no requested header that has no name', async () => {
    const headers = {
      origin: 'https://a.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-caf\u00e9',
    }
    expect(await all.ask({ method: 'OPTIONS', path: '/named', headers })).toEqual({
      status: 204,
      headers: {
        allow: 'GET, HEAD, OPTIONS',
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-max-age': '3600',
        vary: 'Access-Control-Request-Headers',
        'x-request-id': 'test',
      },
      body: '',
    })
  })

  it('200: has an id of its own where Fastify takes its id from a text beyond ASCII', async () => {
    const app = new Application({ modules: { index: { Named } } })
    const fastify = Fastify({ ...fastifyOptions(app), requestIdHeader: 'x-id' })
    await fastify.register(app.fastify)
    const ask = async (id: string): Promise<readonly unknown[]> => {
      const answer = await fastify.inject({ path: '/named?header=x-a&value=b', headers: { 'x-id': id } })
      return [answer.statusCode, answer.headers['x-request-id']]
    }
    expect(await ask('plain-id')).toEqual([200, 'plain-id'])
    expect(await ask('caf\u00e9')).toEqual([200, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    await fastify.close()
  })
})
