import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairGate, type FairGateOptions } from './fair-gate.ts'

/** How much requests may do at a time, such as rows that they read, and whose turn a request takes. */
export interface RequestTurnsOptions extends Omit<FairGateOptions, 'patienceMs'> {
  /** The client of a request. */
  readonly clientOf: (request: FastifyRequest) => string
  /**
   * The places that a request takes, such as the rows of the list that it asks for. Its turn lasts from the validation until the
   * answer, or its first piece, is written. Undefined for a request that takes no turn, or takes its turns by `takeTurn` or
   * `inTurn`. By default none takes one.
   */
  readonly sizeOf?: (request: FastifyRequest) => number | undefined
}

const PATIENCE_MS = 10_000

/**
 * Lets clients take turns with long reads, changes or pages. A client that asks for many at once waits for its own, and keeps no
 * other client waiting. A turn that has not come after ten seconds is refused with the error of `refuse`.
 */
export const requestTurns = fp(
  async (app: FastifyInstance, { clientOf, sizeOf, ...bounds }: RequestTurnsOptions) => {
    const gate = new FairGate({ ...bounds, patienceMs: PATIENCE_MS })
    app.decorateRequest('turn')
    app.decorateRequest('inTurn', function inTurn(size, read) {
      return gate.run(read, { client: clientOf(this), size })
    })
    app.decorateRequest('takeTurn', async function takeTurn(size, reply) {
      const turn = await gate.enter({ client: clientOf(this), size, signal: untilClosed(reply) })
      this.turn = turn
      // The deadline has answered: the handler does not run, and no later hook ends the turn.
      if (reply.sent) turn[Symbol.dispose]()
    })
    app.addHook('preHandler', async (request, reply) => {
      const size = sizeOf?.(request)
      if (size !== undefined) await request.takeTurn(size, reply)
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.turn?.[Symbol.dispose]()
      done(null, payload)
    })
    app.addHook('onResponse', (request, _reply, done) => {
      request.turn?.[Symbol.dispose]()
      done()
    })
  },
  { name: 'request-turns' },
)

/** Ends the wait of a client that leaves. Fastify would run its handler all the same. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => closed.abort())
  return closed.signal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The turn of the request, which ends with the answer. */
    turn: Disposable | undefined
    /**
     * Takes a turn until the answer, or its first piece, is written. `size`: the places that it takes.
     * @throws the error of `refuse` when the turn does not come in time, or the client leaves
     */
    takeTurn(size: number, reply: FastifyReply): Promise<void>
    /**
     * Reads when it is the client's turn: a list, or one piece of a long answer. `size`: the places that it takes.
     * @throws the error of `refuse` when the turn does not come in time
     */
    inTurn<T>(size: number, read: () => Promise<T>): Promise<T>
  }
}
