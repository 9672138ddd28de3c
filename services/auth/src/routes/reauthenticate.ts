import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorSchema } from '../error-body.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { reauthenticate } from '../use-cases/reauthenticate.ts'

/** `GET /reauthenticate` */
export const reauthenticateRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(authenticate)

  app.get(
    '/reauthenticate',
    {
      // No HEAD, because the request sends a message.
      exposeHeadRoute: false,
      schema: {
        summary: 'Send the user the code that a new password needs',
        response: { 200: z.object({}), '4xx': errorSchema, '5xx': errorSchema },
      },
    },
    async ({ caller, clientAddress }) => {
      await reauthenticate(app.deps, { caller, ip: clientAddress.address, limitKey: clientAddress.limitKey })
      return {}
    },
  )
}
