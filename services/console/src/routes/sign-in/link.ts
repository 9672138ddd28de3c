import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answerSignIn } from '../../plugins/sign-in.ts'

const LinkBody = z.object({ token_hash: z.string().min(1).max(1_024) })

export const linkRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post('/sign-in/link', { schema: { body: LinkBody } }, async (request, reply) => {
    const proof = { kind: 'link', tokenHash: request.body.token_hash } as const
    return answerSignIn(request, reply, await app.deps.auth.signIn(proof, request.ip), {})
  })
}
