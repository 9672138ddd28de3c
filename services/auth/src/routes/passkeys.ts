import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { friendlyNameField, requireFriendlyName } from '../factors/factor.ts'
import { PasskeyView, viewPasskey } from '../passkeys/credential.ts'
import { noStore } from '../plugins/answers.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { requirePasskeys } from '../plugins/refuse-feature.ts'
import { requireId } from '../records/ids.ts'
import { idField, needs } from '../requests/fields.ts'
import { deleteOwnPasskey, listOwnPasskeys, renameOwnPasskey } from '../use-cases/manage-own-passkeys.ts'

const NameBody = z.object({ friendly_name: friendlyNameField.meta({ minLength: 1 }) }).meta(needs('friendly_name'))
const PasskeyPath = z.object({ passkeyId: idField })

/** `GET /passkeys`, `PATCH` and `DELETE /passkeys/{passkey_id}`: manage the caller's own passkeys. */
export const passkeysRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(requirePasskeys)
  await app.register(authenticate)

  app.get(
    '/passkeys',
    {
      schema: {
        operationId: 'listPasskeys',
        tags: ['Passkeys'],
        summary: 'List the own passkeys',
        response: { 200: z.array(PasskeyView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller }) => (await listOwnPasskeys(deps, caller)).map(viewPasskey),
  )

  app.patch(
    '/passkeys/:passkeyId',
    {
      schema: {
        operationId: 'updatePasskey',
        tags: ['Passkeys'],
        summary: 'Rename an own passkey',
        params: PasskeyPath,
        body: NameBody,
        response: { 200: PasskeyView, ...errorAnswers(400, 401, 403, 404, 413) },
      },
    },
    async ({ caller, clientAddress, params, body }) => {
      const passkeyId = requireId('passkey_id', params.passkeyId)
      const friendlyName = requireFriendlyName(body.friendly_name ?? '')
      return viewPasskey(await renameOwnPasskey(deps, { caller, passkeyId, friendlyName, ip: clientAddress.ip }))
    },
  )

  app.delete(
    '/passkeys/:passkeyId',
    {
      schema: {
        operationId: 'deletePasskey',
        tags: ['Passkeys'],
        summary: 'Delete an own passkey',
        params: PasskeyPath,
        response: { 204: z.undefined(), ...errorAnswers(400, 401, 403, 404, 413) },
      },
    },
    async ({ caller, clientAddress, params }, reply) => {
      const passkeyId = requireId('passkey_id', params.passkeyId)
      await deleteOwnPasskey(deps, { caller, passkeyId, ip: clientAddress.ip })
      return reply.code(204).send()
    },
  )
}
