import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ownPath } from '../../pages/paths.ts'
import { FormBody, requireForm } from '../../plugins/browser-session.ts'
import { requireTokens } from '../../plugins/operator.ts'
import { sendSignInPage } from '../../plugins/sign-in.ts'
import { codePage } from '../../sessions/sign-in-pages.ts'

const FactorsBody = FormBody.extend({ next: z.string().optional() })

/** Begins to set up an authenticator app, and shows its QR code once. */
export const factorsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post('/sign-in/factors', { schema: { body: FactorsBody } }, async (request, reply) => {
    const { session, tokens } = await requireTokens(request)
    requireForm(request, session.id)
    const newFactor = await app.deps.auth.enrolFactor(tokens.accessToken, request.ip)
    const proof = { csrf: app.deps.seal.formToken(session.id), key: app.deps.generateIdempotencyKey() }
    return sendSignInPage(reply, codePage({ proof, next: ownPath(request.body.next), newFactor }))
  })
}
