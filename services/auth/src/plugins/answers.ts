import type { IncomingHttpHeaders } from 'node:http'
import cors from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifySerializerCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { API_VERSION, isVersioned } from '../error-body.ts'
import { upstreamForm } from '../records/timestamp.ts'
import { sessionHeaders } from '../sessions/session.ts'

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
    // A redirect names its error in the address.
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

/**
 * Writes an answer without the filter of its response schema, for routes whose views are built completely by this service. Their
 * schemas serve the API document only. Leaves undefined members out.
 */
export const plainJson: FastifySerializerCompiler<unknown> = () => (data) => JSON.stringify(data)

/** The members of a session by which its headers are known. */
interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const Claims = z.object({ sub: z.string(), session_id: z.string() })

interface SessionDeps {
  readonly config: { readonly compatibility: Pick<CompatibilityOptions, 'sendSessionHeaders'> }
}

/** Gives answers the form and the headers that clients of supabase/auth know, as far as the profile has them. */
export const upstreamAnswers = fp<{ readonly compatibility: CompatibilityOptions }>(
  async (app: FastifyInstance, { compatibility }) => {
    const toForm = upstreamForm(compatibility)
    if (toForm) {
      app.addHook('preSerialization', ({ routeOptions }, _reply, payload, done) => {
        // Only clients of supabase/auth know its form. The console reads one form, whatever the profile.
        const isForOperators = routeOptions.config.action !== undefined
        done(null, isForOperators ? payload : toForm(payload))
      })
    }
    if (!compatibility.sendSessionHeaders) return
    app.addHook('preSerialization', (_request, reply, payload, done) => {
      if (isSession(payload)) reply.headers(toHeaders(payload))
      done(null, payload)
    })
  },
  { name: 'upstream-answers' },
)

/** Names the session that a redirect hands out, as answers in JSON name theirs. */
export function nameSession({ config }: SessionDeps, reply: FastifyReply, session: Tokens): void {
  if (config.compatibility.sendSessionHeaders) reply.headers(toHeaders(session))
}

/** A schema would make an error for each answer that is no session, which takes longer than to write the answer. */
function isSession(payload: unknown): payload is Tokens {
  if (typeof payload !== 'object' || payload === null) return false
  return 'access_token' in payload && typeof payload.access_token === 'string' && 'refresh_token' in payload
}

function toHeaders({ access_token: accessToken, refresh_token: refreshToken }: Tokens): Record<string, string> {
  // The token was made a moment ago, so nothing of it needs to be verified.
  const payload = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()
  const { sub, session_id: sessionId } = Claims.parse(JSON.parse(payload))
  return sessionHeaders({ userId: sub, sessionId, refreshToken })
}
