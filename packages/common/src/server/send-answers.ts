import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { throwAway } from './release-memory.ts'

/** A body that is longer, or says so, is not read to its end. */
const READ_BYTES_MAX = 16 * 1024 * 1024
const READ_MS = 5_000
/** Shorter texts are written at once. Their length is in characters. */
const LONG_TEXT = 4_096

/** Prepares answers for their connections before they are sent. */
export const sendAnswers = fp(
  async (app) => {
    // Reads the rest of a body before a refusal that closes the connection. If the client were still sending, a reset would take
    // the answer from it (RFC 9112, section 9.6). A lingering close would read on after the answer, but Node has none.
    app.addHook('onSend', (request, reply, payload, done) => {
      if (!closes(reply) || !isRefusal(reply.statusCode) || !isUnfinished(request.raw)) return done(null, payload)
      reply.liftDeadline()
      return readRest(request.raw, () => done(null, payload))
    })
    // Turns long texts into bytes. A socket counts the characters of a text that waits for its client, and a character may have
    // three bytes: the bounds of connections would let three times as much wait.
    app.addHook('onSend', (_request, _reply, payload, done) => {
      done(null, typeof payload === 'string' && payload.length > LONG_TEXT ? Buffer.from(payload) : payload)
    })
  },
  { name: 'send-answers', dependencies: ['handler-deadline'] },
)

function closes(reply: FastifyReply): boolean {
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

function readRest(body: IncomingMessage, done: () => void): void {
  let read = 0
  const count = (chunk: Buffer) => {
    read += chunk.length
    throwAway(chunk)
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
