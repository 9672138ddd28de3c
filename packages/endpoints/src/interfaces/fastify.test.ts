import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { modules, quiet } from '../../test/shown-request.ts'
import { portOf } from '../../test/start.ts'
import { errorBody } from '../../test/whole-answers.ts'
import { Application, accepts, Controller, fastifyOptions } from '../endpoints.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function mounted(app: Application, prepare: (host: FastifyInstance) => void = () => {}, options: object = {}) {
  const host = Fastify({ ...fastifyOptions(app), ...options })
  prepare(host)
  await host.register(app.fastify, { prefix: '/api' })
  closing.push(() => host.close())
  return host
}

const isReply = (value: unknown): value is FastifyReply =>
  typeof value === 'object' && value !== null && 'send' in value

describe('fastify', () => {
  it('answers at its prefix, with the id, the address and the log of the host', async () => {
    const lines: { msg: string; reqId?: string; err?: { message: string } }[] = []
    const logger = { level: 'error', stream: { write: (line: string) => void lines.push(JSON.parse(line)) } }
    const host = await mounted(new Application({ modules }), undefined, { logger, genReqId: () => 'req-7' })
    for (const url of ['/api', '/api/', '/api?', '/%61pi']) {
      const { statusCode, headers, body } = await host.inject({ url, headers: { host: 'shop.example' } })
      expect([statusCode, headers['x-request-id']], url).toEqual([200, 'req-7'])
      expect(JSON.parse(body)).toEqual({
        ip: '127.0.0.1',
        id: 'req-7',
        origin: 'http://shop.example',
        extra: 1,
        word: null,
      })
    }
    const failed = await host.inject('/api/fails')
    expect([failed.statusCode, failed.json()]).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
    expect(lines.map(({ reqId, err, msg }) => [reqId, err?.message, msg])).toEqual([
      ['req-7', 'a fault', 'GET /api/fails failed (request req-7)'],
    ])
  })

  it('gives the faults of requests to onFault, and no log', async () => {
    const lines: string[] = []
    const logger = { level: 'error', stream: { write: (line: string) => void lines.push(line) } }
    const faults: unknown[] = []
    const onFault = (error: unknown, { id }: { readonly id: string }) => faults.push([error, id])
    const host = await mounted(new Application({ modules, onFault }), undefined, { logger, genReqId: () => 'req-7' })
    const failed = await host.inject('/api/fails')
    expect([failed.statusCode, failed.json()]).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
    expect([faults, lines]).toEqual([[[new Error('a fault'), 'req-7']], []])
  })

  it('leaves URLs outside its prefix to the host', async () => {
    const host = await mounted(new Application({ modules }), (fastify) => {
      fastify.get('/own', async () => 'own')
      fastify.post('/parsed', async (request) => request.body)
    })
    expect((await host.inject('/own')).body).toBe('own')
    expect((await host.inject({ method: 'POST', url: '/parsed', payload: { a: 1 } })).json()).toEqual({ a: 1 })
    expect((await host.inject('/nowhere')).json()).toEqual({
      error: 'Not Found',
      message: 'Route GET:/nowhere not found',
      statusCode: 404,
    })
  })

  it('lets a hook of the host refuse, with the host’s own answer', async () => {
    const host = await mounted(new Application({ modules }), (fastify) => {
      fastify.setErrorHandler((error, _request, reply) => reply.code(418).send({ host: String(error) }))
      fastify.addHook('preHandler', async ({ headers }) => {
        if (headers['x-refuse']) throw new Error('no')
      })
      fastify.addHook('onSend', async (_request, reply, payload) => {
        reply.header('x-hook', 'sent')
        return payload
      })
    })
    const refused = await host.inject({ url: '/api', headers: { 'x-refuse': '1' } })
    expect([refused.statusCode, refused.json()]).toEqual([418, { host: 'Error: no' }])
    const answered = await host.inject('/api')
    expect([answered.statusCode, answered.headers['x-hook']]).toEqual([200, 'sent'])
  })

  it('refuses a media type that Fastify cannot read after the hooks of the host, when there is a handler', async () => {
    let hooked = 0
    const host = await mounted(new Application({ modules }), (fastify) => {
      fastify.addHook('preHandler', async () => {
        hooked += 1
      })
    })
    const post = (url: string) =>
      host.inject({ method: 'POST', url, headers: { 'content-type': 'json' }, payload: '{}' })
    const refused = await post('/api')
    expect([refused.statusCode, refused.json()]).toEqual([
      415,
      {
        error: {
          type: 'UNSUPPORTED_MEDIA_TYPE',
          description: 'The media type, charset or encoding of the body is not supported',
        },
        statusCode: 415,
      },
    ])
    for (const [url, status, type, description] of [
      ['/api/nowhere', 404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'],
      ['/api/fails', 405, 'NOT_ALLOWED', 'This URL does not take this method'],
    ] as const) {
      const missed = await post(url)
      expect([missed.statusCode, missed.json()]).toEqual([status, errorBody(status, type, description)])
    }
    expect(hooked).toBe(3)
  })

  it('reads the body that a hook of the host has replaced', async () => {
    const host = await mounted(new Application({ modules }), (fastify) => {
      fastify.addHook('preParsing', async () => Readable.from([Buffer.from('{"a":'), Buffer.from('"hook"}')]))
    })
    const { body } = await host.inject({ method: 'POST', url: '/api', payload: { a: 'client' } })
    expect(body).toBe('{"a":"hook"}')
  })

  it('leaves unknown verbs to a host that registers them', async () => {
    const app = new Application({ modules })
    const host = Fastify(fastifyOptions(app))
    closing.push(() => host.close())
    host.setNotFoundHandler((_request, reply) => reply.code(404).send('the host'))
    await host.register(app.fastify)
    await host.listen({ port: 0 })
    const url = `http://localhost:${portOf(host.server)}`
    expect(await (await fetch(url, { method: 'PROPFIND' })).text()).toBe('the host')
    expect((await fetch(url)).status).toBe(200)
  })

  it('fails to start when the controllers cannot be loaded', async () => {
    const app = new Application({ modules: { index: () => Promise.reject(new Error('gone')) } })
    await expect(mounted(app)).rejects.toThrow('gone')
  })

  it('logs nothing when a hook has answered', async () => {
    const host = await mounted(new Application({ modules, log: quiet }), (fastify) => {
      fastify.addHook('preHandler', (_request, reply, done) => {
        done()
        reply.send('first')
      })
    })
    expect((await host.inject('/api')).body).toBe('first')
  })

  it('compares nothing with a declaration, and logs nothing, when the handler has answered by the reply', async () => {
    const lines: string[] = []
    const logger = { level: 'error', stream: { write: (line: string) => void lines.push(line) } }
    class Default extends Controller {
      static GET = accepts({ returns: z.object({ name: z.string() }) })
      GET() {
        const [reply] = this.request.raw.extra
        if (this.request.header('x-by-reply') && isReply(reply)) reply.send({ name: 'by the reply' })
      }
    }
    const host = await mounted(new Application({ modules: { index: { Default } } }), undefined, { logger })
    const answered = await host.inject({ url: '/api', headers: { 'x-by-reply': '1' } })
    expect([answered.statusCode, answered.json(), lines]).toEqual([200, { name: 'by the reply' }, []])
    const failed = await host.inject('/api')
    expect([failed.statusCode, failed.json()]).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
    expect(lines).toEqual([expect.stringContaining('Default.GET returned what it does not declare')])
  })

  it.each([
    ['HPE_HEADER_OVERFLOW', 'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'],
    ['HPE_INVALID_METHOD', 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'],
    ['ECONNRESET', 'destroyed'],
  ])('answers invalid HTTP (%s) as node:http does', (code, expected) => {
    const { clientErrorHandler } = fastifyOptions(new Application({ modules }))
    let answer = ''
    const socket = {
      writable: true,
      end(text: string) {
        answer = text
      },
      destroy() {
        answer = 'destroyed'
      },
    }
    clientErrorHandler(Object.assign(new Error(), { code }), socket)
    expect(answer).toBe(expected)
  })
})
