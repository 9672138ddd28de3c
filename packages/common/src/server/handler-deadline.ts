import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { HttpError } from '../errors/define-error.ts'

export interface HandlerDeadlineOptions {
  /** Milliseconds; kept to a quarter of a second. */
  readonly timeoutMs: number
  readonly timedOut: (cause: unknown) => HttpError
}

const SWEEP_MS = 250

/**
 * Answers a request whose handler takes too long. Fastify's own `handlerTimeout` does the same, but makes and aborts an
 * AbortController for each request, and a timer of its own; both stood out in profiles. Here one timer looks through the
 * requests, oldest first.
 */
export const handlerDeadline = fp<HandlerDeadlineOptions>(
  async (app, { timeoutMs, timedOut }) => {
    // In the order of their arrival, and so of their deadlines.
    const running = new Map<FastifyReply, number>()
    const sweep = setInterval(() => {
      const now = performance.now()
      for (const [reply, arrived] of running) {
        if (now - arrived < timeoutMs) return
        running.delete(reply)
        expire(reply, timedOut(new Error(`the handler took longer than ${timeoutMs} ms`)))
      }
    }, SWEEP_MS)
    sweep.unref()
    app.addHook('onClose', (_app, done) => {
      clearInterval(sweep)
      done()
    })
    app.addHook('onRequest', (_request, reply, done) => {
      running.set(reply, performance.now())
      done()
    })
    app.addHook('onResponse', (_request, reply, done) => {
      running.delete(reply)
      done()
    })
  },
  { name: 'handler-deadline' },
)

function expire(reply: FastifyReply, error: HttpError): void {
  if (reply.sent || reply.request.raw.socket.destroyed) return
  // An answer that has begun cannot become another one.
  if (reply.raw.headersSent) reply.raw.destroy(error)
  else reply.send(error)
}
