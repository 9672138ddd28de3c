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
 * Headers of every response, even for unknown routes. Browsers must not guess content types or show a response in a frame
 * (reference: Response headers).
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
  /** Whether an error response also has its code in a header. */
  readonly errorCode: boolean
}

const errorCodeHeader = fp(async (app: FastifyInstance) => {
  app.addHook('onSend', (request, reply, payload, done) => {
    // A redirect has its error in the URL.
    if (request.errorCode !== undefined && reply.statusCode >= 400) reply.header('x-sb-error-code', request.errorCode)
    done(null, payload)
  })
})

/** Sets the headers of every response, and allows calls from pages of any origin (reference: CORS). */
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
      // Otherwise the plugin rejects an OPTIONS request without browser headers, in plain text instead of JSON.
      strictPreflight: false,
    })
  },
  { name: 'headers' },
)

/** Forbids caching. For contexts with sessions or users in their responses. */
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
 * Writes a response without the filter of its schema. For routes that build the whole response themselves, and have schemas only
 * for the API document. Omits `undefined` members.
 */
export const plainJson: FastifySerializerCompiler<unknown> = () => (data) => JSON.stringify(data)

/** The members that identify a response as a session. */
interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const Claims = z.object({ sub: z.string(), session_id: z.string() })

interface SessionDeps {
  readonly config: { readonly compatibility: Pick<CompatibilityOptions, 'sendSessionHeaders'> }
}

/** Gives responses the form and headers of supabase/auth, as far as the profile requires. */
export const upstreamAnswers = fp<{ readonly compatibility: CompatibilityOptions }>(
  async (app: FastifyInstance, { compatibility }) => {
    const toForm = upstreamForm(compatibility)
    if (toForm) {
      app.addHook('preSerialization', ({ routeOptions }, _reply, payload, done) => {
        // Only clients of supabase/auth need its form. The console uses the same form in every profile.
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

/** Adds the headers of a session to a redirect, as JSON responses with a session have them. */
export function nameSession({ config }: SessionDeps, reply: FastifyReply, session: Tokens): void {
  if (config.compatibility.sendSessionHeaders) reply.headers(toHeaders(session))
}

/** Not a schema: creating its error for every other response would take longer than writing the response. */
function isSession(payload: unknown): payload is Tokens {
  if (typeof payload !== 'object' || payload === null) return false
  return 'access_token' in payload && typeof payload.access_token === 'string' && 'refresh_token' in payload
}

function toHeaders({ access_token: accessToken, refresh_token: refreshToken }: Tokens): Record<string, string> {
  // This service has just created the token, so it needs no verification.
  const payload = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()
  const { sub, session_id: sessionId } = Claims.parse(JSON.parse(payload))
  return sessionHeaders({ userId: sub, sessionId, refreshToken })
}
