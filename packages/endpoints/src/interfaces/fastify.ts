import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { type Answer, isStream } from '../answers/answer.ts'
import { toWebStream } from '../answers/byte-stream.ts'
import type { BodySource } from '../body/body-source.ts'
import { parseMediaType } from '../body/media-type.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
import type { ErrorLog, Incoming, RawRequest } from '../request/incoming.ts'
import { VERBS } from '../routing/verbs.ts'
import { NodeIncoming, nodeBody } from './node.ts'

interface Answering {
  readonly ready: () => Promise<unknown>
  readonly answer: (incoming: Incoming) => Promise<Answer>
}

/** A plugin for Fastify 5. Its type does not refer to Fastify, so that applications without Fastify compile. */
export type FastifyPlugin = (instance: { readonly prefix: string }) => Promise<void>

export interface FastifyOptions {
  readonly frameworkErrors: (error: Error, request: object, reply: object) => void
  readonly clientErrorHandler: (error: Error, socket: ErrorSocket) => void
}

interface ErrorSocket {
  readonly writable: boolean
  end(text: string): unknown
  destroy(): unknown
}

/** The stream of a body. It is the body of the request, or its replacement by a hook of the server. */
type Payload = FastifyRequest['raw']

interface Received {
  /** The number of path parts in the prefix of the plugin. */
  readonly mountDepth: number
  /** `undefined` if the request has no body. */
  readonly payload?: Payload | undefined
  readonly refusal?: CallError
}

/** A request of Fastify. The framework uses its id, log and address, but not its parameters. */
class FastifyIncoming extends NodeIncoming {
  override readonly mountDepth: number
  override readonly id: string
  override readonly log: ErrorLog
  override readonly refusal: CallError | undefined
  readonly reply: FastifyReply
  readonly #request: FastifyRequest
  readonly #payload: Payload | undefined

  constructor(request: FastifyRequest, reply: FastifyReply, { mountDepth, payload, refusal }: Received) {
    super(request.raw, reply.raw)
    this.mountDepth = mountDepth
    this.refusal = refusal
    this.#payload = payload
    this.id = request.id
    this.log = (error, message) => request.log.error({ err: error }, message)
    this.#request = request
    this.reply = reply
  }

  override get raw(): RawRequest {
    return { request: this.#request, extra: [this.reply] }
  }

  override get body(): BodySource | undefined {
    const payload = this.#payload
    // A hook of the server may have replaced the body with another stream, for example to decompress it.
    return payload === undefined || payload === this.#request.raw ? super.body : nodeBody(payload, undefined)
  }

  /** `reply.sent` is already `true` when another writer has taken over the reply, even before its headers are sent. */
  override isAnswered(): boolean {
    return this.reply.sent || super.isAnswered()
  }

  override address(): string {
    return this.#request.ip
  }

  override origin(): string {
    return `${this.#request.protocol}://${this.#request.host}`
  }
}

/**
 * Creates a plugin that serves every verb below its prefix. The application resolves the raw URLs and reads the bodies, because
 * only the application knows which types a handler accepts.
 * @param mountedAt called with the prefix
 */
export function fastifyPlugin(app: Answering, mountedAt: (prefix: string) => void): FastifyPlugin {
  return async (host) => {
    await app.ready()
    // The published types do not refer to Fastify. The cast is safe, because only Fastify instances register plugins.
    const instance = host as FastifyInstance
    mountedAt(instance.prefix)
    const depth = instance.prefix.split('/').filter((part) => part !== '').length
    const payloads = new WeakMap<FastifyRequest, Payload>()
    const handle: FastifyHandler = (request, reply) => {
      const received = { mountDepth: depth, payload: payloads.get(request) }
      void answerWithFastify(app, new FastifyIncoming(request, reply, received))
    }
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (request, payload, done) => {
      payloads.set(request, payload)
      done(null, payload)
    })
    for (const url of depth > 0 ? ['/*', '/'] : ['/*']) {
      instance.route({ url, method: ['GET', 'HEAD'], exposeHeadRoute: false, handler: handle })
      instance.route({ url, method: withBody, preParsing: hideBadContentType, handler: handle })
    }
    setNotFoundHandler(instance, handle)
  }
}

const withBody = VERBS.filter((verb) => verb !== 'GET' && verb !== 'HEAD')

/**
 * Hides a malformed Content-Type from Fastify. Otherwise Fastify would refuse the request before the handler can. The application
 * still reads the original header.
 */
const hideBadContentType: preParsingHookHandler = (request, _reply, payload, done) => {
  const type = request.headers['content-type']
  if (type !== undefined && parseMediaType(type) === undefined) {
    request.headers = { 'content-type': 'application/octet-stream' }
  }
  done(null, payload)
}

/** A handler that returns nothing. If it returned the reply, Fastify would wait for the end of the stream. */
type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => void

/** Handles the verbs that Fastify's router does not support, unless the server has its own handler for them. */
function setNotFoundHandler(instance: FastifyInstance, handle: FastifyHandler): void {
  try {
    instance.setNotFoundHandler(handle)
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('already set'))) throw error
  }
}

/**
 * Returns options that make Fastify refuse requests in the same way as the application, even before any plugin runs: `Fastify({
 * ...fastifyOptions(app) })`. A request that is not HTTP gets the answer of `node:http`.
 */
export function fastifyOptions(app: Answering): FastifyOptions {
  return {
    frameworkErrors(_error, request, reply) {
      const refusal = new CallError(400, PROBLEM_TEXTS.malformedUrl)
      // The published types do not refer to Fastify. The casts are safe, because only Fastify calls this function.
      const incoming = new FastifyIncoming(request as FastifyRequest, reply as FastifyReply, {
        mountDepth: 0,
        refusal,
      })
      void answerWithFastify(app, incoming)
    },
    clientErrorHandler(error, socket) {
      const code = 'code' in error ? error.code : undefined
      const status = (typeof code === 'string' && clientErrors[code]) || '400 Bad Request'
      if (socket.writable && code !== 'ECONNRESET') socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
      else socket.destroy()
    },
  }
}

const clientErrors: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
}

async function answerWithFastify(app: Answering, incoming: FastifyIncoming): Promise<void> {
  const { reply } = incoming
  try {
    send(incoming, await app.answer(incoming))
  } catch (error) {
    reply.raw.destroy()
    incoming.log(error, 'an answer cannot be sent')
  }
}

function send(incoming: FastifyIncoming, { status, headers, body }: Answer): void {
  const { reply } = incoming
  if (incoming.isAnswered() || reply.raw.destroyed) {
    if (isStream(body)) body.close()
    return
  }
  reply.code(status)
  for (let i = 1; i < headers.length; i += 2) reply.header(headers[i - 1] ?? '', headers[i])
  if (status === 413 && reply.raw.req.httpVersionMajor === 1) reply.header('connection', 'close')
  reply.send(isStream(body) ? toWebStream(body) : body)
}
