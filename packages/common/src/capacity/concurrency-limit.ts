import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairGate, type FairGateOptions } from './fair-gate.ts'

export interface ConcurrencyLimitOptions extends Omit<FairGateOptions, 'patienceMs'> {
  readonly clientOf: (request: FastifyRequest) => string
  /**
   * Returns the number of slots that a request takes, such as the number of rows that it requests. The request holds them from
   * its validation until the answer, or its first chunk, is written. Returns `undefined` for a request that takes no slots, or
   * that calls `takeSlots` or `withSlots`. By default, no request takes slots.
   */
  readonly sizeOf?: (request: FastifyRequest) => number | undefined
}

const PATIENCE_MS = 10_000

/**
 * Limits the concurrency of long reads, changes or pages, with a fair share for each client. If a request gets no slot within ten
 * seconds, it is refused with the error of `refuse`.
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
      // The deadline has answered. The handler does not run, and no later hook frees the slots.
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

/** Returns a signal that ends the wait when the client disconnects. Otherwise Fastify would run the handler anyway. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => closed.abort())
  return closed.signal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The slots of the request. They are freed with the answer. */
    slots: Disposable | undefined
    /**
     * Takes `size` slots until the answer, or its first chunk, is written.
     * @throws the error of `refuse` if no slot is free in time, or if the client disconnects
     */
    takeSlots(size: number, reply: FastifyReply): Promise<void>
    /**
     * Reads a list, or one chunk of a long answer, when `size` slots are free.
     * @throws the error of `refuse` if no slot is free in time
     */
    withSlots<T>(size: number, read: () => Promise<T>): Promise<T>
  }
}
