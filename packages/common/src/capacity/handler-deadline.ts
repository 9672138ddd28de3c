import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { HttpError } from '../errors/define-error.ts'
import { shownPath } from '../telemetry/path-of.ts'
import { answerSlowBody, hasBodyPlace, leaveBodyPlace, moveBodyPlace } from './body-places.ts'

/** How long a handler may take, in milliseconds, and the errors that end it. */
export interface HandlerDeadlineOptions {
  /** Checked every quarter of a second. */
  readonly handlerTimeoutMs: number
  readonly timedOut: (cause: unknown) => HttpError
  /** The error for a request whose body has not arrived in time. */
  readonly bodyTimedOut: (cause: unknown) => HttpError
  /** The error for a request whose body gets no place. */
  readonly busy: () => HttpError
}

const CHECK_MS = 250

/**
 * Answers a request whose handler takes too long. Fastify's `handlerTimeout` does the same, but makes and aborts an
 * AbortController and a timer for each request; both stood out in profiles. Here one timer checks all requests.
 *
 * The requests stand in an array, and each leaves its place empty. A Map that changes with every request keeps a chain of its
 * old tables, in which V8 keeps finished requests until the next full collection.
 */
export const handlerDeadline = fp<HandlerDeadlineOptions>(
  async (app, { handlerTimeoutMs, timedOut, bodyTimedOut, busy }) => {
    const running: (Running | undefined)[] = []
    const empty: number[] = []
    const timer = setInterval(() => {
      const latestMs = performance.now() - handlerTimeoutMs
      for (const [place, each] of running.entries()) {
        if (each === undefined || each.arrivedMs > latestMs) continue
        leave(each.reply, place)
        if (isBodyAwaited(each.reply)) dropBody(each.reply, `the body took longer than ${handlerTimeoutMs} ms`)
        else expire(each.reply, timedOut(new Error(`the handler took longer than ${handlerTimeoutMs} ms`)))
      }
    }, CHECK_MS)
    timer.unref()
    app.addHook('onClose', (_app, done) => {
      clearInterval(timer)
      done()
    })
    const leave = (reply: FastifyReply, place: number) => {
      running[place] = undefined
      empty.push(place)
      reply.placeOfDeadline = undefined
    }
    const begin = (reply: FastifyReply) => {
      const place = empty.pop() ?? running.length
      running[place] = { reply, arrivedMs: performance.now() }
      reply.placeOfDeadline = place
    }
    const dropBody = (reply: FastifyReply, reason: string) => {
      // Nobody reads the rest of the body, so the connection cannot be used again.
      reply.header('connection', 'close')
      expire(reply, bodyTimedOut(new Error(reason)))
    }
    app.decorateReply('placeOfDeadline')
    app.decorateReply('liftDeadline', function liftDeadline() {
      if (this.placeOfDeadline !== undefined) leave(this, this.placeOfDeadline)
      leaveBodyPlace(this.request.raw)
    })
    app.decorateReply('countForCaller', async function countForCaller(caller: string) {
      const { raw } = this.request
      const isTimed = this.placeOfDeadline !== undefined
      // A body that waits for its place does not use up the time of the handler.
      if (this.placeOfDeadline !== undefined) leave(this, this.placeOfDeadline)
      const hasPlace = await moveBodyPlace(raw, `caller ${caller}`)
      if (isTimed) begin(this)
      if (hasPlace) return
      this.header('connection', 'close')
      throw busy()
    })
    app.addHook('onRequest', ({ raw }, reply, done) => {
      if (hasBodyPlace(raw)) answerSlowBody(raw, () => dropBody(reply, 'the body came slowly while others waited'))
      begin(reply)
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
  readonly arrivedMs: number
}

/** Whether the client has not sent all of its body. An injected request has no such state. */
function isBodyAwaited({ request: { raw } }: FastifyReply): boolean {
  return raw.complete === false
}

function expire(reply: FastifyReply, error: HttpError): void {
  if (reply.sent || reply.request.raw.socket.destroyed) return
  // An answer that has begun cannot be replaced.
  if (reply.raw.headersSent) reply.raw.destroy(error)
  else {
    // The answer is sent, so a later result of the handler is dropped. Fastify would log a stack trace for each of them.
    reply.raw.once('finish', () => reply.hijack())
    reply.send(error)
  }
  // When the handler sends something after all, Fastify logs the URL. The query may hold a token.
  reply.request.raw.url = shownPath(reply.request)
}

declare module 'fastify' {
  interface FastifyReply {
    /** The place of the request among those that run. */
    placeOfDeadline: number | undefined
    /**
     * Removes the time limit. For handlers that send or read as long as there is data, keep none of it, and have their own
     * limits.
     */
    liftDeadline(): void
    /**
     * Counts the request for its caller, whose token or key is verified, instead of its address. Call it before the body is
     * read. The body waits while other bodies of the caller take up the share of one client.
     * @throws the error of a busy service when no place becomes free in time
     */
    countForCaller(caller: string): Promise<void>
  }
}
