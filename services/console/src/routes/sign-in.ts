import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { notSignedIn } from '../errors.ts'
import { ownPath } from '../pages/paths.ts'
import { readSession } from '../plugins/browser-session.ts'
import { findSignedIn } from '../plugins/operator.ts'
import { answerSignIn, sendSignInPage } from '../plugins/sign-in.ts'
import { signInLinkPage, signInPage } from '../sessions/sign-in-pages.ts'

const SignInQuery = z.object({
  next: z.string().optional(),
  ended: z.string().optional(),
  unended: z.string().optional(),
  token_hash: z.string().max(1_024).optional(),
})
const SignInBody = z.object({
  email: z.string().trim().max(320),
  password: z.string().max(1_024),
  next: z.string().optional(),
})

/** Sign-in by email and password, and the page of a sign-in link (console reference: Sessions of the console). */
export const signInRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/sign-in', { schema: { querystring: SignInQuery } }, async (request, reply) => {
    const { next, token_hash: tokenHash } = request.query
    if (tokenHash !== undefined) {
      return sendSignInPage(reply, signInLinkPage({ tokenHash, signedIn: await findSignedIn(request, reply) }))
    }
    return sendSignInPage(reply, signInPage({ next: ownPath(next), note: await findNote(request) }))
  })

  app.post('/sign-in', { schema: { body: SignInBody } }, async (request, reply) => {
    const { email, password, next } = request.body
    const signIn = await app.deps.auth.signIn({ kind: 'password', email, password }, request.ip)
    return answerSignIn(request, reply, signIn, { email, next })
  })
}

/**
 * Returns the message about the former session. A browser with a session gets none, because anyone can write the URL of a link.
 */
async function findNote(
  request: FastifyRequest<{ Querystring: z.infer<typeof SignInQuery> }>,
): Promise<string | undefined> {
  const { ended, unended } = request.query
  if ((ended ?? unended) === undefined || (await readSession(request)) !== undefined) return undefined
  if (unended === undefined) return `${notSignedIn.message}.`
  return 'You are signed out of this browser. Auth has not answered, so the session is still open there. It cannot be used without the cookie that was here.'
}
