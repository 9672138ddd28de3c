import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The Fastify request behind a request of the framework. The controllers are served through Fastify alone. */
export function fastifyRequestOf({ raw }: EndpointRequest): FastifyRequest {
  return raw.request as FastifyRequest
}

/** The Fastify reply to a request of the framework. */
export function fastifyReplyOf({ raw }: EndpointRequest): FastifyReply {
  const [reply] = raw.extra
  return reply as FastifyReply
}

/** Adds members to the log line of a request. */
export function noteOn(request: EndpointRequest, fields: Readonly<Record<string, unknown>>): void {
  const fastifyRequest = fastifyRequestOf(request)
  fastifyRequest.logFields = { ...fastifyRequest.logFields, ...fields }
}
