import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { authenticate } from '../../plugins/authenticate.ts'
import { readWantedAudience } from '../../plugins/read-context.ts'
import { requireId } from '../../records/ids.ts'
import { idField } from '../../requests/fields.ts'
import { unlinkIdentity } from '../../use-cases/unlink-identity.ts'

/** `DELETE /user/identities/{identity_id}`: unlinks an identity of the caller, but never the last one. */
export const identitiesRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(authenticate)

  app.delete(
    '/user/identities/:identityId',
    {
      schema: {
        operationId: 'unlinkIdentity',
        tags: ['Providers'],
        summary: 'Unlink an identity from the own account',
        params: z.object({ identityId: idField }),
        response: { 200: z.object({}), ...errorAnswers(400, 401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { caller, clientAddress, params } = request
      const identityId = requireId('identity_id', params.identityId)
      const audience = readWantedAudience(request)
      await unlinkIdentity(app.deps, { caller, identityId, audience, ip: clientAddress.ip })
      return {}
    },
  )
}
