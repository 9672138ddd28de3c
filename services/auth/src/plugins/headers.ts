import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { API_VERSION, isVersioned } from '../error-envelope.ts'

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

/** Headers of every answer: any page may call this service, no browser may guess types or frame it (contract 3.1, 9.4). */
export const headers = fp<{ readonly corsAllowedHeaders: readonly string[] }>(
  async (app: FastifyInstance, { corsAllowedHeaders }) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-content-type-options', 'nosniff')
      reply.header('x-frame-options', 'DENY')
      const version = request.headers['x-supabase-api-version'] ?? request.headers['x-auth-api-version']
      if (typeof version === 'string' && isVersioned(version)) reply.header('x-supabase-api-version', API_VERSION)
      done()
    })
    await app.register(cors, {
      origin: '*',
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      allowedHeaders: [...ALLOWED, ...corsAllowedHeaders],
      exposedHeaders: ['X-Total-Count', 'Link', 'X-Supabase-Api-Version'],
      // Else an OPTIONS without a browser's headers is refused in plain text, outside of the envelope.
      strictPreflight: false,
    })
  },
  { name: 'headers' },
)

/** For contexts whose answers hold sessions or users: nothing on the way may keep them. */
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
