import type { FastifyRequest } from 'fastify'
import type { SessionOrigin } from '../sessions/session-repository.ts'

/** What a session remembers of the request that opened or refreshed it. */
export function readSessionOrigin(request: FastifyRequest): SessionOrigin {
  return { userAgent: request.headers['user-agent'] ?? null, ip: request.clientAddress.address }
}

/** The header X-JWT-AUD; undefined when it is missing or empty. */
export function readWantedAudience(request: FastifyRequest): string | undefined {
  const value = request.headers['x-jwt-aud']
  return (Array.isArray(value) ? value[0] : value) || undefined
}
