import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { PATHS } from '../pages/paths.ts'
import { endSession, readSession, requireForm } from '../plugins/browser-session.ts'
import type { Session } from '../sessions/session-seal.ts'

/**
 * Ends the session, here and at auth. Here it ends also while auth does not answer: the next person at the
 * browser is not signed in.
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

/** Ends a session at auth. False where auth has not done it. */
async function endAtAuth({ server, ip }: FastifyRequest, session: Session): Promise<boolean> {
  const { accessTokens, auth } = server.deps
  try {
    const tokens = await accessTokens.find(session, ip)
    if (tokens !== undefined) await auth.signOut(tokens.accessToken, ip)
    return true
  } catch (error) {
    if (error instanceof HttpError) return false
    throw error
  }
}
