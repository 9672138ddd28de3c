import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { JWKS_MAX_AGE_SECONDS } from '../../access-tokens/key-ring.ts'
import { errorAnswers } from '../../error-body.ts'

const JwksAnswer = z.object({ keys: z.array(z.looseObject({ kid: z.string(), alg: z.string() })) })

/** `GET /.well-known/jwks.json`: the public keys that verify this service's tokens, without shared secrets (RFC 7517). */
export const jwksRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/.well-known/jwks.json',
    {
      schema: {
        operationId: 'getKeys',
        tags: ['Service'],
        summary: 'List the public keys that verify access tokens',
        security: [],
        response: { 200: JwksAnswer, ...errorAnswers() },
      },
    },
    async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
      return { keys: [...app.deps.signingKeys.publicJwks()] }
    },
  )
}
