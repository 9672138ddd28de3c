import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairGate, type FairGateOptions } from './fair-gate.ts'

export interface ConcurrencyLimitOptions extends Omit<FairGateOptions, 'patienceMs'> {
  readonly clientOf: (request: FastifyRequest) => string
  /**
   * The slots that a request takes, such as the rows of the list that it asks for. It has them from the validation until the
   * answer, or its first chunk, is written. Undefined for a request that takes no slots, or takes its slots by `takeSlots` or
   * `withSlots`. By default none takes one.
   */
  readonly sizeOf?: (request: FastifyRequest) => number | undefined
}

const PATIENCE_MS = 10_000

/**
 * Limits the concurrency of long reads, changes or pages, with a fair share for each client. A request that has no slot after
 * ten seconds is refused with the error of `refuse`.
 */
export const concurrencyLimit = fp(
  async (app: FastifyInstance, { clientOf, sizeOf, ...bounds }: ConcurrencyLimitOptions) => {
    const gate = new FairGate({ ...bounds, patienceMs: PATIENCE_MS })
    app.decorateRequest('slots')
    app.decorateRequest('withSlots', function withSlots(size, read) {
      return gate.run(read, { client: clientOf(this), size })
    })
    app.decorateRequest('takeSlots', async function takeSlots(size, reply) {
      const slots = await gate.enter({ client: clientOf(this), size, signal: untilClosed(reply) })
      this.slots = slots
      // The deadline has answered: the handler does not run, and no later hook frees the slots.
      if (reply.sent) slots[Symbol.dispose]()
    })
    app.addHook('preHandler', async (request, reply) => {
      const size = sizeOf?.(request)
      if (size !== undefined) await request.takeSlots(size, reply)
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.slots?.[Symbol.dispose]()
      done(null, payload)
    })
    app.addHook('onResponse', (request, _reply, done) => {
      request.slots?.[Symbol.dispose]()
      done()
    })
  },
  { name: 'concurrency-limit' },
)

/** Ends the wait of a client that leaves. Fastify would run its handler all the same. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => closed.abort())
  return closed.signal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The slots of the request, which are freed with the answer. */
    slots: Disposable | undefined
    /**
     * Takes slots until the answer, or its first chunk, is written. `size`: the number of slots.
     * @throws the error of `refuse` when no slot is free in time, or the client leaves
     */
    takeSlots(size: number, reply: FastifyReply): Promise<void>
    /**
     * Reads a list, or one chunk of a long answer, when slots are free. `size`: the number of slots.
     * @throws the error of `refuse` when no slot is free in time
     */
    withSlots<T>(size: number, read: () => Promise<T>): Promise<T>
  }
}
