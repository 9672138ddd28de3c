import type { IncomingHttpHeaders } from 'node:http'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { API_VERSION, isVersioned } from '../error-body.ts'

const ALLOWED = [
  'Accept',
  'Authorization',
  'Content-Type',
  'X-Client-IP',
  'X-Client-Info',
  'X-JWT-AUD',
  'X-Supabase-Api-Version',
  'X-Auth-Api-Version',
  'apikey',
] as const

/**
 * Headers of every answer, also to requests that reach no route: browsers must not guess types or show it in a frame (reference:
 * Response headers).
 */
export function commonHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const version = headers['x-supabase-api-version'] ?? headers['x-auth-api-version']
  return {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(typeof version === 'string' && isVersioned(version) ? { 'x-supabase-api-version': API_VERSION } : {}),
  }
}

interface HeaderOptions {
  readonly corsAllowedHeaders: readonly string[]
  /** Whether errors carry their code in a header too. */
  readonly errorCode: boolean
}

const errorCodeHeader = fp(async (app: FastifyInstance) => {
  app.addHook('onSend', (request, reply, payload, done) => {
    // A redirect tells its error in the address.
    if (request.errorCode !== undefined && reply.statusCode >= 400) reply.header('x-sb-error-code', request.errorCode)
    done(null, payload)
  })
})

/** Sets the headers of every answer, and lets pages of any origin call this service (reference: CORS). */
export const headers = fp<HeaderOptions>(
  async (app: FastifyInstance, { corsAllowedHeaders, errorCode }) => {
    if (errorCode) await app.register(errorCodeHeader)
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(commonHeaders(request.headers))
      done()
    })
    await app.register(cors, {
      origin: '*',
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      allowedHeaders: [...ALLOWED, ...corsAllowedHeaders],
      exposedHeaders: ['X-Total-Count', 'Link', 'X-Supabase-Api-Version', 'X-Redirect-Refused'],
      // Otherwise the plugin refuses an OPTIONS request without a browser's headers, in plain text instead of JSON.
      strictPreflight: false,
    })
  },
  { name: 'headers' },
)

/** For contexts whose answers hold sessions or users: no cache may store them. */
export const noStore = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      reply.header('pragma', 'no-cache')
      done()
    })
  },
  { name: 'no-store' },
)
