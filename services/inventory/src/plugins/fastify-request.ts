import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** @throws Error for a request of another server */
export function fastifyRequestOf({ raw }: EndpointRequest): FastifyRequest {
  if (!isFastifyRequest(raw.request)) throw new Error('the request did not come through Fastify')
  return raw.request
}

function isFastifyRequest(request: unknown): request is FastifyRequest {
  return typeof request === 'object' && request !== null && 'routeOptions' in request
}

/** @throws Error for a request of another server */
export function fastifyReplyOf({ raw }: EndpointRequest): FastifyReply {
  const [reply] = raw.extra
  if (!isFastifyReply(reply)) throw new Error('the request did not come through Fastify')
  return reply
}

function isFastifyReply(reply: unknown): reply is FastifyReply {
  return typeof reply === 'object' && reply !== null && 'liftDeadline' in reply
}

export function addLogFields(request: EndpointRequest, fields: Readonly<Record<string, unknown>>): void {
  const fastifyRequest = fastifyRequestOf(request)
  fastifyRequest.logFields = { ...fastifyRequest.logFields, ...fields }
}
