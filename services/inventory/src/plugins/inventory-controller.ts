import { Controller, type EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyRequest } from 'fastify'
import type { InventoryDeps } from '../deps.ts'

/** Base of the controllers of this service. */
export abstract class InventoryController extends Controller<InventoryDeps> {
  /** Adds members to the log line of this request. */
  protected note(fields: Readonly<Record<string, unknown>>): void {
    const request = fastifyRequestOf(this.request)
    request.logFields = { ...request.logFields, ...fields }
  }
}

/** The request of the server that the controllers are mounted in. */
export function fastifyRequestOf({ raw }: EndpointRequest): FastifyRequest {
  // The controllers are served through Fastify alone.
  return raw.request as FastifyRequest
}
