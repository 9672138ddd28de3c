import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ownPath, PATHS } from '../../pages/paths.ts'
import { FormBody, requireForm } from '../../plugins/browser-session.ts'
import { requireTokens } from '../../plugins/operator.ts'
import { sendSignInPage } from '../../plugins/sign-in.ts'
import { codePage } from '../../sessions/sign-in-pages.ts'

const FactorsBody = FormBody.extend({ next: z.string().optional() })

/** Starts the set-up of an authenticator app and shows its QR code once. Operators with a second factor must use that. */
export const factorsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post('/sign-in/factors', { schema: { body: FactorsBody } }, async (request, reply) => {
    const { session, tokens } = await requireTokens(request)
    requireForm(request, session.id)
    // Otherwise an attacker with a copy of a cookie from before the second factor could add a factor.
    const known = await app.deps.auth.findFactor(tokens.accessToken, request.ip)
    if (known !== undefined) return reply.redirect(PATHS.signInFactor, 303)
    const newFactor = await app.deps.auth.enrolFactor(tokens.accessToken, request.ip)
    const proof = { csrf: app.deps.sessionCipher.formToken(session.id), key: app.deps.generateIdempotencyKey() }
    return sendSignInPage(reply, codePage({ proof, next: ownPath(request.body.next), newFactor }))
  })
}
