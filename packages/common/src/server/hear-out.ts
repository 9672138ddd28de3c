import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'

/** Bytes of a body that are read for nothing. */
const HEARD_MAX = 16 * 1024 * 1024
const PATIENCE_MS = 5_000

/**
 * Reads the rest of a body before a refusal. The connection may close with the answer; were the client still sending then,
 * a reset would take the answer from it (RFC 9112, section 9.6). There are bounds to it, in bytes and in time.
 */
export const hearOut = fp(
  async (app) => {
    app.addHook('onSend', (request, reply, payload, done) => {
      const isRefusal = reply.statusCode >= 400 && reply.statusCode < 500
      if (!isRefusal || !isUnfinished(request.raw)) return done(null, payload)
      reply.liftDeadline()
      return readOn(request.raw, () => done(null, payload))
    })
  },
  { name: 'hear-out', dependencies: ['handler-deadline'] },
)

/** Whether there is more to come, and no more of it than is put up with. Only a connection knows `complete`. */
function isUnfinished({ complete, destroyed, headers }: IncomingMessage): boolean {
  return complete === false && !destroyed && Number(headers['content-length'] ?? 0) <= HEARD_MAX
}

function readOn(body: IncomingMessage, done: () => void): void {
  let heard = 0
  const count = (chunk: Buffer) => {
    heard += chunk.length
    if (heard > HEARD_MAX) stop()
  }
  const stop = () => {
    clearTimeout(timer)
    body.off('data', count).off('close', stop).off('end', stop)
    done()
  }
  const timer = setTimeout(stop, PATIENCE_MS)
  body.on('data', count).once('end', stop).once('close', stop).resume()
}
