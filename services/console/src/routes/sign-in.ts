import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ownPath } from '../pages/paths.ts'
import { answerSignIn, sendSignInPage } from '../plugins/sign-in.ts'
import { signInLinkPage, signInPage } from '../sessions/sign-in-pages.ts'

const SignInQuery = z.object({
  next: z.string().optional(),
  ended: z.string().optional(),
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
    const { next, ended, token_hash: tokenHash } = query
    if (tokenHash !== undefined) return sendSignInPage(reply, signInLinkPage(tokenHash))
    const note = ended === undefined ? undefined : 'Your session has ended. Sign in again.'
    return sendSignInPage(reply, signInPage({ next: ownPath(next), note }))
  })

  app.post('/sign-in', { schema: { body: SignInBody } }, async (request, reply) => {
    const { email, password, next } = request.body
    const signIn = await app.deps.auth.signIn({ kind: 'password', email, password }, request.ip)
    return answerSignIn(request, reply, signIn, { email, next })
  })
}
