import type { FastifyRequest } from 'fastify'
import type { SessionOrigin } from '../sessions/session.ts'

/** Longer than any browser sends. A header may hold 16 KiB, which every session would store. */
const USER_AGENT_LENGTH_MAX = 512

/** The client of the request that opens or refreshes a session: its address, and its User-Agent or null. */
export function readSessionOrigin(request: FastifyRequest): SessionOrigin {
  return { userAgent: readUserAgent(request) ?? null, ip: request.clientAddress.ip }
}

/** The header User-Agent, cut to the 512 characters that are stored; undefined when it is missing. */
export function readUserAgent({ headers }: FastifyRequest): string | undefined {
  return headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX)
}

/** The header X-JWT-AUD; undefined when it is missing or empty. */
export function readWantedAudience(request: FastifyRequest): string | undefined {
  const value = request.headers['x-jwt-aud']
  return (Array.isArray(value) ? value[0] : value) || undefined
}
