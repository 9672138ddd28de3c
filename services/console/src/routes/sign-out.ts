import type { FastifyPluginAsync } from 'fastify'
import { PATHS } from '../pages/paths.ts'
import { endAtAuth, endSession, readSession, requireForm } from '../plugins/browser-session.ts'

/**
 * Ends the session here and at auth. It ends here even if auth does not answer, so that the next person at the browser is not
 * signed in.
 */
export const signOutRoutes: FastifyPluginAsync = async (app) => {
  app.post('/sign-out', async (request, reply) => {
    const session = await readSession(request)
    if (session === undefined) return reply.redirect(PATHS.signIn, 303)
    requireForm(request, session.id)
    const isOver = await endAtAuth(request, session)
    endSession(reply, session.id)
    return reply.redirect(isOver ? PATHS.signIn : `${PATHS.signIn}?unended=1`, 303)
  })
}
