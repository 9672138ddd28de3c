import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairGate, type FairGateOptions } from './fair-gate.ts'

/** How much of lists is read at a time, and whose turn a request takes. */
export interface ListTurnsOptions extends Omit<FairGateOptions, 'patienceMs'> {
  /** The client of a request. */
  readonly clientOf: (request: FastifyRequest) => string
  /**
   * The size of the list that a request asks for. Its turn lasts from the validation until the answer, or its first piece, is
   * written. Undefined for a request that takes no turn, or takes its turns by `takeListTurn` or `inListTurn`. By
   * default none takes one.
   */
  readonly sizeOf?: (request: FastifyRequest) => number | undefined
}

const PATIENCE_MS = 10_000

/**
 * Lets clients take turns with their lists. A client that asks for many long lists at once waits for its own lists, and keeps no
 * other client waiting. A turn that has not come after ten seconds is refused with the error of `refuse`.
 */
export const listTurns = fp(
  async (app: FastifyInstance, { clientOf, sizeOf, ...bounds }: ListTurnsOptions) => {
    const gate = new FairGate({ ...bounds, patienceMs: PATIENCE_MS })
    app.decorateRequest('listTurn')
    app.decorateRequest('inListTurn', function inListTurn(size, read) {
      return gate.run(read, { client: clientOf(this), size })
    })
    app.decorateRequest('takeListTurn', async function takeListTurn(size, reply) {
      const turn = await gate.enter({ client: clientOf(this), size, signal: untilClosed(reply) })
      this.listTurn = turn
      // The deadline has answered: the list is not read, and no later hook ends its turn.
      if (reply.sent) turn[Symbol.dispose]()
    })
    app.addHook('preHandler', async (request, reply) => {
      const size = sizeOf?.(request)
      if (size !== undefined) await request.takeListTurn(size, reply)
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.listTurn?.[Symbol.dispose]()
      done(null, payload)
    })
    app.addHook('onResponse', (request, _reply, done) => {
      request.listTurn?.[Symbol.dispose]()
      done()
    })
  },
  { name: 'list-turns' },
)

/** Ends the wait of a client that leaves. Fastify would read its list all the same. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => closed.abort())
  return closed.signal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The turn of a list that is read. */
    listTurn: Disposable | undefined
    /**
     * Takes a turn until the answer, or its first piece, is written. `size`: the places that it takes.
     * @throws the error of `refuse` when the turn does not come in time, or the client leaves
     */
    takeListTurn(size: number, reply: FastifyReply): Promise<void>
    /**
     * Reads a list, or one piece of a long answer, when it is the client's turn. `size`: the places that it takes.
     * @throws the error of `refuse` when the turn does not come in time
     */
    inListTurn<T>(size: number, read: () => Promise<T>): Promise<T>
  }
}
