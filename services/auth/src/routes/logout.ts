import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { signOut } from '../use-cases/sign-out.ts'

/** `POST /logout`: ends sessions of the caller. Their access tokens stay valid until they expire. */
export const logoutRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(authenticate)

  app.post(
    '/logout',
    {
      schema: {
        operationId: 'signOut',
        tags: ['Account'],
        summary: 'Sign out',
        description: 'Ends sessions of the user, with their refresh tokens.',
        querystring: z.object({
          scope: z
            .string()
            .optional()
            .meta({
              enum: ['global', 'local', 'others'],
              default: 'global',
              description:
                'The sessions to end: global (all), local (the one of the access token) or others (all but this one)',
            }),
        }),
        response: { 204: z.undefined(), ...errorAnswers(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { caller, query, clientAddress } = request
      await signOut(app.deps, { caller, scope: query.scope, ip: clientAddress.ip })
      return reply.code(204).send()
    },
  )
}
