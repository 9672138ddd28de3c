import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import { upstreamForm } from '../records/upstream-form.ts'
import { sessionHeaders } from '../sessions/session-headers.ts'

/** The members of a session by which its headers are known. */
const Tokens = z.object({ access_token: z.string(), refresh_token: z.string() })
const Claims = z.object({ sub: z.string(), session_id: z.string() })
type Tokens = z.output<typeof Tokens>

interface SessionDeps {
  readonly config: { readonly behaviours: Pick<Behaviours, 'sessionHeaders'> }
}

/** Gives answers the form and the headers that clients of supabase/auth know, as far as the profile has them. */
export const upstreamAnswers = fp<{ readonly behaviours: Behaviours }>(
  async (app: FastifyInstance, { behaviours }) => {
    const toForm = upstreamForm(behaviours)
    if (toForm) app.addHook('preSerialization', async (_request, _reply, payload) => toForm(payload))
    if (!behaviours.sessionHeaders) return
    app.addHook('preSerialization', async (_request, reply, payload) => {
      const session = Tokens.safeParse(payload)
      if (session.success) reply.headers(toHeaders(session.data))
      return payload
    })
  },
  { name: 'upstream-answers' },
)

/** Names the session that a redirect hands out, as answers in JSON name theirs. */
export function nameSession({ config }: SessionDeps, reply: FastifyReply, session: Tokens): void {
  if (config.behaviours.sessionHeaders) reply.headers(toHeaders(session))
}

function toHeaders({ access_token: accessToken, refresh_token: refreshToken }: Tokens): Record<string, string> {
  // The token was made a moment ago, so nothing of it needs to be verified.
  const payload = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()
  const { sub, session_id: sessionId } = Claims.parse(JSON.parse(payload))
  return sessionHeaders({ userId: sub, sessionId, refreshToken })
}
