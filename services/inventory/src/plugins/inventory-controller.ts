import { Controller, type EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InventoryDeps } from '../deps.ts'

/** Base of the controllers of this service. */
export abstract class InventoryController extends Controller<InventoryDeps> {
  /** Adds members to the log line of this request. */
  protected note(fields: Readonly<Record<string, unknown>>): void {
    const request = fastifyRequestOf(this.request)
    request.logFields = { ...request.logFields, ...fields }
  }

  /** Lets this request take as long as there is something to send or to read. */
  protected liftDeadline(): void {
    const [reply] = this.request.raw.extra
    // What comes with a request of Fastify.
    const fastifyReply = reply as FastifyReply
    fastifyReply.liftDeadline()
  }

  /** Tells of what was done in the log line; of what was done before, in a header. */
  protected noteRepeat(verdict: 'done' | 'replayed', fields: Readonly<Record<string, unknown>>): void {
    if (verdict === 'done') this.note(fields)
    else this.response.headers.set('idempotent-replayed', 'true')
  }
}

/** The request of the server that the controllers are mounted in. */
export function fastifyRequestOf({ raw }: EndpointRequest): FastifyRequest {
  // The controllers are served through Fastify alone.
  return raw.request as FastifyRequest
}
