import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { PasskeyView, viewPasskey } from '../../../passkeys/credential.ts'
import { listPasskeys } from '../../../passkeys/passkey-repository.ts'
import { readWantedAudience } from '../../../plugins/read-context.ts'
import { requirePasskeys } from '../../../plugins/refuse-feature.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { deletePasskeyAsAdmin } from '../../../use-cases/delete-passkey-as-admin.ts'
import { getManagedProfile } from '../../../users/profile-repository.ts'

export const adminPasskeysRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(requirePasskeys)

  app.get(
    '/admin/users/:userId/passkeys',
    {
      schema: {
        operationId: 'listUserPasskeys',
        tags: ['Admin'],
        summary: 'List the passkeys of a user',
        params: z.object({ userId: idField }),
        response: { 200: z.array(PasskeyView), ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const userId = requireId('user_id', request.params.userId)
      await getManagedProfile(deps.pools, { userId, audience: readWantedAudience(request) })
      return (await listPasskeys(deps.db, userId)).map(viewPasskey)
    },
  )

  app.delete(
    '/admin/users/:userId/passkeys/:passkeyId',
    {
      schema: {
        operationId: 'deleteUserPasskey',
        tags: ['Admin'],
        summary: 'Delete a passkey of a user',
        params: z.object({ userId: idField, passkeyId: idField }),
        response: { 204: z.undefined(), ...errorAnswers(400, 401, 403, 404, 413) },
      },
    },
    async (request, reply) => {
      const { admin, clientAddress, params } = request
      const userId = requireId('user_id', params.userId)
      const passkeyId = requireId('passkey_id', params.passkeyId)
      const managed = { admin, audience: readWantedAudience(request), userId, ip: clientAddress.ip }
      await deletePasskeyAsAdmin(deps, { ...managed, passkeyId })
      return reply.code(204).send()
    },
  )
}
