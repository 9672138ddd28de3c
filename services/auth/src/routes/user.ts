import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorSchema } from '../error-envelope.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { noStore } from '../plugins/headers.ts'
import { plainJson } from '../plugins/plain-json.ts'
import { readWantedAudience } from '../plugins/session-origin.ts'
import { getOwnUser } from '../use-cases/get-own-user.ts'
import { userViewSchema } from '../users/user-view.ts'

/** `GET /user` */
export const userRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(noStore)
  await app.register(authenticate)

  app.get(
    '/user',
    {
      schema: {
        summary: 'The user of the access token',
        response: { 200: userViewSchema, 400: errorSchema, 401: errorSchema, 403: errorSchema },
      },
      serializerCompiler: plainJson,
    },
    (request) => getOwnUser(app.deps, { caller: request.caller, audience: readWantedAudience(request) }),
  )
}
