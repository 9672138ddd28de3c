import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { throwAway } from './release-memory.ts'

/** Of a body so long that somebody waits for its end; of one that says that it is longer, nothing is read. */
const HEARD_BYTES_MAX = 16 * 1024 * 1024
const PATIENCE_MS = 5_000

/**
 * Reads the rest of a body before a refusal that closes the connection. Were the client still sending then, a reset would
 * take the answer from it (RFC 9112, section 9.6). A lingering close would read on behind the answer; Node offers none.
 * Connections that stay open need nothing of this.
 */
export const hearOut = fp(
  async (app) => {
    app.addHook('onSend', (request, reply, payload, done) => {
      if (!closes(reply) || !isRefusal(reply.statusCode) || !isUnfinished(request.raw)) return done(null, payload)
      reply.liftDeadline()
      return readOn(request.raw, () => done(null, payload))
    })
  },
  { name: 'hear-out', dependencies: ['handler-deadline'] },
)

function closes(reply: FastifyReply): boolean {
  return !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
}

/** Who gets 408 has been waited for. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 408
}

/** Whether there is more to come, and no more of it than is put up with. A request that is injected says nothing of it. */
function isUnfinished({ complete, destroyed, headers }: IncomingMessage): boolean {
  return complete === false && !destroyed && Number(headers['content-length'] ?? 0) <= HEARD_BYTES_MAX
}

function readOn(body: IncomingMessage, done: () => void): void {
  let heard = 0
  const count = (chunk: Buffer) => {
    heard += chunk.length
    throwAway(chunk)
    if (heard > HEARD_BYTES_MAX) stop()
  }
  const stop = () => {
    clearTimeout(timer)
    body.off('data', count).off('close', stop).off('end', stop)
    done()
  }
  const timer = setTimeout(stop, PATIENCE_MS)
  body.on('data', count).once('end', stop).once('close', stop).resume()
}
