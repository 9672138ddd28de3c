import { createServer, type IncomingHttpHeaders, request as nodeRequest, type Server } from 'node:http'
import Fastify from 'fastify'
import { expect } from 'vitest'
import { Application, type ApplicationOptions, fastifyOptions } from '../src/endpoints.ts'
import { portOf } from './start.ts'

/** A request that is sent through every interface. */
export interface Ask {
  readonly method?: string
  /** The raw request target. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Whether to skip the fetch interface. A fetch server never receives some requests, such as those with dot segments. */
  readonly withoutFetch?: boolean
  /** Whether to skip the mounted application. A path of the maximum length leaves no room for the prefix of a mount. */
  readonly withoutMount?: boolean
}

/** The part of an answer that must be the same for every interface. */
export interface Answered {
  readonly status: number
  /** The headers without those of the connection and without `Date`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One application behind every interface. */
export interface EveryInterface {
  readonly app: Application
  /** Sends the request through each interface. @throws Error if their statuses, headers or bytes differ */
  readonly ask: (ask: Ask) => Promise<Answered>
  readonly close: () => Promise<void>
}

const ofConnection = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])

/** Serves one application through `node:http`, fetch, Fastify and `inject`, to compare their answers. */
export async function everyInterface(options: ApplicationOptions): Promise<EveryInterface> {
  const quiet = { warn: () => {}, error: () => {} }
  const app = await new Application({ log: quiet, ...options }).ready()
  const listener = createServer(app.listener)
  const fastify = Fastify(fastifyOptions(app))
  await fastify.register(app.fastify)
  const mounted = Fastify(fastifyOptions(app))
  await mounted.register(app.fastify, { prefix: '/mount' })
  await Promise.all([listen(listener), fastify.listen({ port: 0 }), mounted.listen({ port: 0 })])

  const ask = async (given: Ask): Promise<Answered> => {
    const length = given.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(given.body)) }
    const request = { method: 'GET', ...given, headers: { 'x-request-id': 'test', ...length, ...given.headers } }
    const first = await askInjected(app, request)
    expect(await askServer(listener, request), 'listener').toEqual(first)
    expect(await askServer(fastify.server, request), 'fastify').toEqual(first)
    if (request.path.startsWith('/') && !request.withoutMount) {
      const path = `/mount${request.path}`
      expect(await askServer(mounted.server, { ...request, path }), 'fastify with a prefix').toEqual(first)
    }
    if (!request.withoutFetch) expect(await askFetch(app, request), 'fetch').toEqual(first)
    return first
  }
  const close = async (): Promise<void> => {
    listener.closeAllConnections()
    await Promise.all([new Promise((resolve) => listener.close(resolve)), fastify.close(), mounted.close()])
  }
  return { app, ask, close }
}

type Complete = Ask & Required<Pick<Ask, 'method' | 'headers'>>

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
}

async function askInjected(app: Application, { method, path, headers, body }: Complete): Promise<Answered> {
  return readResponse(await app.inject({ method, path, headers, ...(body === undefined ? {} : { body }) }))
}

async function askFetch(app: Application, { method, path, headers, body }: Complete): Promise<Answered> {
  return readResponse(await app.fetch(new Request(`http://localhost${path}`, { method, headers, body: body ?? null })))
}

async function readResponse(response: Response): Promise<Answered> {
  const cookies = response.headers.getSetCookie()
  const headers = { ...Object.fromEntries(response.headers), ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) }
  return { status: response.status, headers: endToEnd(headers), body: await response.text() }
}

function askServer(server: Server, { method, path, headers, body }: Complete): Promise<Answered> {
  const port = portOf(server)
  return new Promise((resolve, reject) => {
    const request = nodeRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0 } = response
        resolve({ status, headers: endToEnd(response.headers), body: Buffer.concat(chunks).toString() })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

function endToEnd(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (ofConnection.has(name) ? [] : [[name, String(value)]])),
  )
}
