import type { FastifyPluginAsync } from 'fastify'
import { PATHS } from '../pages/paths.ts'
import { endSession, readSession, requireForm } from '../plugins/browser-session.ts'

/** Ends the session, here and at auth. */
export const signOutRoutes: FastifyPluginAsync = async (app) => {
  app.post('/sign-out', async (request, reply) => {
    const session = await readSession(request)
    if (session !== undefined) {
      requireForm(request, session.id)
      const tokens = await app.deps.accessTokens.find(session, request.ip)
      if (tokens !== undefined) await app.deps.auth.signOut(tokens.accessToken, request.ip)
    }
    endSession(reply, session?.id)
    return reply.redirect(PATHS.signIn, 303)
  })
}
