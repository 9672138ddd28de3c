import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { countThrownAway } from '../connections/release-memory.ts'
import { HttpError } from '../errors/define-error.ts'
import type { ErrorVocabulary } from '../errors/error-handler.ts'
import { STATUS_CODES } from './node-http.ts'
import { createProtocolReader, type TrustedProxies } from './trusted-proxies.ts'

/** The media type of JSON responses. Without a charset, some clients do not assume UTF-8 (RFC 8259, section 8.1). */
export const JSON_TYPE = 'application/json; charset=utf-8'
/** For responses that are not pages: browsers load nothing for them and do not frame them. Pages set their own policy. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
/**
 * One year. `includeSubDomains` is missing, because a service does not know whether every name below its host supports TLS.
 * Browsers would refuse hosts without TLS for a year. An operator who knows better can replace the header in the proxy.
 */
const TRANSPORT_SECURITY = 'max-age=31536000'

/** The maximum size of a body that is read to its end, in bytes. */
const READ_BYTES_MAX = 16 * 1024 * 1024
const READ_MS = 5_000
/** The length, in characters, up to which a text is written as it is. */
const LONG_TEXT_LENGTH = 4_096

export const sendAnswers = fp(
  async (app) => {
    // Reads the rest of a body before a refusal that closes the connection. Otherwise a reset could discard the response while
    // the client still sends (RFC 9112, section 9.6). Node has no lingering close.
    app.addHook('onSend', (request, reply, payload, done) => {
      if (!closesConnection(reply) || !isRefusal(reply.statusCode) || !isUnfinished(request.raw))
        return done(null, payload)
      reply.liftDeadline()
      return readRestOfBody(request.raw, () => done(null, payload))
    })
    // Converts long texts to bytes. For a text that waits for its client, a socket counts characters, and a character may have
    // three bytes. Without the conversion, three times the connection's limit could wait in memory.
    app.addHook('onSend', (_request, _reply, payload, done) => {
      done(null, typeof payload === 'string' && payload.length > LONG_TEXT_LENGTH ? Buffer.from(payload) : payload)
    })
  },
  { name: 'send-answers', dependencies: ['handler-deadline'] },
)

function closesConnection(reply: FastifyReply): boolean {
  return !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
}

/** Returns whether the status is a refusal. 408 does not count, because the service has already waited for that client. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 408
}

/** Returns whether more of the body will arrive, and the body is not too long. Injected requests have no such state. */
function isUnfinished({ complete, destroyed, headers }: IncomingMessage): boolean {
  return complete === false && !destroyed && Number(headers['content-length'] ?? 0) <= READ_BYTES_MAX
}

function readRestOfBody(body: IncomingMessage, done: () => void): void {
  let read = 0
  const count = (chunk: Buffer) => {
    read += chunk.length
    countThrownAway(chunk)
    if (read > READ_BYTES_MAX) stop()
  }
  const stop = () => {
    clearTimeout(timer)
    body.off('data', count).off('close', stop).off('end', stop)
    done()
  }
  const timer = setTimeout(stop, READ_MS)
  body.on('data', count).once('end', stop).once('close', stop).resume()
}

/** Creates security headers for browsers. Plain HTTP gets no Strict-Transport-Security (RFC 6797, section 7.2). */
export function createBrowserHeaders(trusted: TrustedProxies): (request: IncomingMessage) => Record<string, string> {
  const readProtocol = createProtocolReader(trusted)
  const policy = { 'content-security-policy': DATA_POLICY }
  return (request) =>
    readProtocol(request) === 'https' ? { ...policy, 'strict-transport-security': TRANSPORT_SECURITY } : policy
}

interface BrokenRequestOptions {
  readonly vocabulary: ErrorVocabulary
  readonly now: () => Date
  readonly brokenRequestHeaders?: (headers: IncomingHttpHeaders) => Readonly<Record<string, string>>
}

/** Error codes of Node.js with a specific status. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Responds to bytes that are not an HTTP request, in the envelope of the service, and closes the connection. */
export function answerBrokenRequest(
  { vocabulary, now, brokenRequestHeaders }: BrokenRequestOptions,
  error: ConnectionError,
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const { code, message, details, headers: own, status: usual } = vocabulary.malformed(error)
  const status = STATUS_OF_CODE[error.code ?? ''] ?? usual
  const known = new HttpError(status, code, { message, details, headers: own, cause: error })
  const body = errorText(vocabulary, vocabulary.envelope(known, undefined), status)
  const headers = {
    'content-security-policy': DATA_POLICY,
    ...brokenRequestHeaders?.({}),
    ...known.headers,
    'content-type': JSON_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': randomUUID(),
    // Node adds this header only to normal responses (RFC 9110, 6.6.1).
    date: now().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
}

/** Returns the text of an error body: JSON, unless the vocabulary of the service defines another format. */
export function errorText(vocabulary: ErrorVocabulary, body: unknown, status: number): string {
  return vocabulary.layOut?.(body, status) ?? JSON.stringify(body)
}

interface ConnectionError extends Error {
  readonly code?: string
}
