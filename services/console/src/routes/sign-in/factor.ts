import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ownPath } from '../../pages/paths.ts'
import { FormBody } from '../../plugins/browser-session.ts'
import { requireTokens } from '../../plugins/operator.ts'
import { answerFactor, sendSignInPage } from '../../plugins/sign-in.ts'
import { beginFactorPage, codePage, otherFactorPage } from '../../sessions/sign-in-pages.ts'

const FactorQuery = z.object({ next: z.string().optional() })
const FactorBody = FormBody.extend({
  code: z.string().max(16),
  next: z.string().optional(),
  /** The authenticator app that is being set up. */
  factor_id: z.uuid().optional(),
})

/** The second factor of a sign-in: a code of the authenticator app, or its set-up. */
export const factorRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/sign-in/factor', { schema: { querystring: FactorQuery } }, (request, reply) =>
    askForFactor(request, reply, ownPath(request.query.next)),
  )

  app.post('/sign-in/factor', { schema: { body: FactorBody } }, (request, reply) =>
    answerFactor(request, reply, request.body),
  )
}

async function askForFactor(request: FastifyRequest, reply: FastifyReply, next: string): Promise<FastifyReply> {
  const { auth, sessionCipher, generateIdempotencyKey } = request.server.deps
  const { session, tokens } = await requireTokens(request)
  const proof = { csrf: sessionCipher.formToken(session.id), key: generateIdempotencyKey() }
  const factor = await auth.findFactor(tokens.accessToken, request.ip)
  if (factor?.kind === 'other') return sendSignInPage(reply, otherFactorPage())
  return sendSignInPage(reply, (factor === undefined ? beginFactorPage : codePage)({ proof, next }))
}
