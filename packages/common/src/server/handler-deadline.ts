import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { HttpError } from '../errors/define-error.ts'
import { answerSlowBody, hasBodyPlace, leaveBodyPlace } from './body-places.ts'

export interface HandlerDeadlineOptions {
  /** Milliseconds; kept to a quarter of a second. */
  readonly timeoutMs: number
  readonly timedOut: (cause: unknown) => HttpError
  /** The same where the body has not come by then. */
  readonly bodyTimedOut: (cause: unknown) => HttpError
}

const SWEEP_MS = 250

/**
 * Answers a request whose handler takes too long. Fastify's own `handlerTimeout` does the same, but makes and aborts an
 * AbortController for each request, and a timer of its own; both stood out in profiles. Here one timer looks through the
 * requests.
 *
 * They stand in an array, each in a place that it leaves empty. A Map that changes with every request leaves a chain of its
 * former tables behind, in which V8 keeps finished requests until the next full collection.
 */
export const handlerDeadline = fp<HandlerDeadlineOptions>(
  async (app, { timeoutMs, timedOut, bodyTimedOut }) => {
    const running: (Running | undefined)[] = []
    const empty: number[] = []
    const sweep = setInterval(() => {
      const latest = performance.now() - timeoutMs
      for (const [place, each] of running.entries()) {
        if (each === undefined || each.arrived > latest) continue
        leave(each.reply, place)
        if (isBodyAwaited(each.reply)) dropBody(each.reply, `the body took longer than ${timeoutMs} ms`)
        else expire(each.reply, timedOut(new Error(`the handler took longer than ${timeoutMs} ms`)))
      }
    }, SWEEP_MS)
    sweep.unref()
    app.addHook('onClose', (_app, done) => {
      clearInterval(sweep)
      done()
    })
    const leave = (reply: FastifyReply, place: number) => {
      running[place] = undefined
      empty.push(place)
      reply.placeOfDeadline = undefined
    }
    const dropBody = (reply: FastifyReply, reason: string) => {
      // What still comes is read by nobody, so the connection is of no more use.
      reply.header('connection', 'close')
      expire(reply, bodyTimedOut(new Error(reason)))
    }
    app.decorateReply('placeOfDeadline')
    app.decorateReply('liftDeadline', function liftDeadline() {
      if (this.placeOfDeadline !== undefined) leave(this, this.placeOfDeadline)
      leaveBodyPlace(this.request.raw)
    })
    app.addHook('onRequest', ({ raw }, reply, done) => {
      if (hasBodyPlace(raw)) answerSlowBody(raw, () => dropBody(reply, 'the body came slowly while others waited'))
      const place = empty.pop() ?? running.length
      running[place] = { reply, arrived: performance.now() }
      reply.placeOfDeadline = place
      done()
    })
    app.addHook('onResponse', (_request, reply, done) => {
      if (reply.placeOfDeadline !== undefined) leave(reply, reply.placeOfDeadline)
      done()
    })
  },
  { name: 'handler-deadline' },
)

interface Running {
  readonly reply: FastifyReply
  readonly arrived: number
}

/** Whether the client has not sent all of its body. A request that is injected says nothing of it. */
function isBodyAwaited({ request: { raw } }: FastifyReply): boolean {
  return raw.complete === false
}

function expire(reply: FastifyReply, error: HttpError): void {
  if (reply.sent || reply.request.raw.socket.destroyed) return
  // An answer that has begun cannot become another one.
  if (reply.raw.headersSent) reply.raw.destroy(error)
  else reply.send(error)
}

declare module 'fastify' {
  interface FastifyReply {
    /** Where the request stands among those that run. */
    placeOfDeadline: number | undefined
    /** For handlers that take as long as there is something to send or to read, and keep none of it; they have bounds of their own. */
    liftDeadline(): void
  }
}
