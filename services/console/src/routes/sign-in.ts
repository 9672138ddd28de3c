import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ownPath } from '../pages/paths.ts'
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

/** The sign-in by email and password, and the page that a link to sign in opens (console reference: Sessions of the console). */
export const signInRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/sign-in', { schema: { querystring: SignInQuery } }, ({ query }, reply) => {
    const { next, token_hash: tokenHash } = query
    if (tokenHash !== undefined) return sendSignInPage(reply, signInLinkPage(tokenHash))
    return sendSignInPage(reply, signInPage({ next: ownPath(next), note: noteOf(query) }))
  })

  app.post('/sign-in', { schema: { body: SignInBody } }, async (request, reply) => {
    const { email, password, next } = request.body
    const signIn = await app.deps.auth.signIn({ kind: 'password', email, password }, request.ip)
    return answerSignIn(request, reply, signIn, { email, next })
  })
}

/** What the page says of the session before. */
function noteOf({ ended, unended }: z.infer<typeof SignInQuery>): string | undefined {
  if (unended !== undefined) {
    return 'You are signed out of this browser. Auth has not answered, so the session is still open there. Nobody can use it without the cookie that was here.'
  }
  return ended === undefined ? undefined : 'Your session has ended. Sign in again.'
}
