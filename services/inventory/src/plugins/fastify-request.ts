import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyRequest } from 'fastify'

/** The request of the server that the controllers are mounted in. */
export function fastifyRequestOf({ raw }: EndpointRequest): FastifyRequest {
  // The controllers are served through Fastify alone.
  return raw.request as FastifyRequest
}

/** Adds members to the log line of a request. */
export function noteOn(request: EndpointRequest, fields: Readonly<Record<string, unknown>>): void {
  const fastifyRequest = fastifyRequestOf(request)
  fastifyRequest.logFields = { ...fastifyRequest.logFields, ...fields }
}
