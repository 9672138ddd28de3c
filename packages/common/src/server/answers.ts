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

/**
 * The media type of JSON answers. JSON is UTF-8 (RFC 8259, section 8.1), but some clients guess another encoding without it.
 */
export const JSON_TYPE = 'application/json; charset=utf-8'
/** For an answer that is not a page: a browser loads nothing for it and shows it in no frame. Each page sets its own policy. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
/**
 * One year. Without `includeSubDomains`: a service does not know whether every name below its host speaks TLS, and browsers would
 * refuse those that do not for a year. An operator who knows lets the proxy replace the header.
 */
const TRANSPORT_SECURITY = 'max-age=31536000'

/** A body that is longer, or says so, is not read to its end. */
const READ_BYTES_MAX = 16 * 1024 * 1024
const READ_MS = 5_000
/** Shorter texts are written at once. Their length is in characters. */
const LONG_TEXT_LENGTH = 4_096

export const sendAnswers = fp(
  async (app) => {
    // Reads the rest of a body before a refusal that closes the connection. If the client were still sending, a reset would take
    // the answer from it (RFC 9112, section 9.6). A lingering close would read on after the answer, but Node has none.
    app.addHook('onSend', (request, reply, payload, done) => {
      if (!closesConnection(reply) || !isRefusal(reply.statusCode) || !isUnfinished(request.raw))
        return done(null, payload)
      reply.liftDeadline()
      return readRestOfBody(request.raw, () => done(null, payload))
    })
    // Turns long texts into bytes. A socket counts the characters of a text that waits for its client, and a character may have
    // three bytes: the bounds of connections would let three times as much wait.
    app.addHook('onSend', (_request, _reply, payload, done) => {
      done(null, typeof payload === 'string' && payload.length > LONG_TEXT_LENGTH ? Buffer.from(payload) : payload)
    })
  },
  { name: 'send-answers', dependencies: ['handler-deadline'] },
)

function closesConnection(reply: FastifyReply): boolean {
  return !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
}

/** A client that gets 408 has been waited for already. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 408
}

/** Whether more of the body is to come, and not too much of it. An injected request has no such state. */
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

/** Makes the headers that restrict browsers. Over plain HTTP there is no Strict-Transport-Security (RFC 6797, section 7.2). */
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

/** Codes of Node.js that have a status of their own. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Answers bytes that are no HTTP request, in the envelope of the service, and closes the connection. */
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
    // Node writes it into all other answers (RFC 9110, 6.6.1).
    date: now().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
}

/** The text of the body of an error: JSON, unless the vocabulary of the service writes another form. */
export function errorText(vocabulary: ErrorVocabulary, body: unknown, status: number): string {
  return vocabulary.layOut?.(body, status) ?? JSON.stringify(body)
}

interface ConnectionError extends Error {
  readonly code?: string
}
