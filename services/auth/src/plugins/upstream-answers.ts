import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import { upstreamForm } from '../records/upstream-form.ts'
import { sessionHeaders } from '../sessions/session.ts'

/** The members of a session by which its headers are known. */
interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const Claims = z.object({ sub: z.string(), session_id: z.string() })

interface SessionDeps {
  readonly config: { readonly behaviours: Pick<Behaviours, 'sendSessionHeaders'> }
}

/** Gives answers the form and the headers that clients of supabase/auth know, as far as the profile has them. */
export const upstreamAnswers = fp<{ readonly behaviours: Behaviours }>(
  async (app: FastifyInstance, { behaviours }) => {
    const toForm = upstreamForm(behaviours)
    if (toForm) {
      app.addHook('preSerialization', ({ routeOptions }, _reply, payload, done) => {
        // Only clients of supabase/auth know its form. The console reads one form, whatever the profile.
        const isForOperators = routeOptions.config.action !== undefined
        done(null, isForOperators ? payload : toForm(payload))
      })
    }
    if (!behaviours.sendSessionHeaders) return
    app.addHook('preSerialization', (_request, reply, payload, done) => {
      if (isSession(payload)) reply.headers(toHeaders(payload))
      done(null, payload)
    })
  },
  { name: 'upstream-answers' },
)

/** Names the session that a redirect hands out, as answers in JSON name theirs. */
export function nameSession({ config }: SessionDeps, reply: FastifyReply, session: Tokens): void {
  if (config.behaviours.sendSessionHeaders) reply.headers(toHeaders(session))
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
