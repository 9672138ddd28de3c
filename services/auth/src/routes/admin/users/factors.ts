import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { runWorkAlone } from '../../../audit/audit-log.ts'
import { errorAnswers } from '../../../error-body.ts'
import { friendlyNameField, requireFriendlyName } from '../../../factors/factor.ts'
import { readWantedAudience } from '../../../plugins/read-context.ts'
import { requireId } from '../../../records/ids.ts'
import { idField, phoneField } from '../../../requests/fields.ts'
import {
  changeFactorAsAdmin,
  type ManagedFactor,
  unenrolFactorAsAdmin,
} from '../../../use-cases/change-factor-as-admin.ts'
import { getManagedProfile } from '../../../users/profile-repository.ts'
import { FactorView, viewFactor } from '../../../users/user-view.ts'

const UserPath = z.object({ userId: idField })
const FactorPath = z.object({ userId: idField, factorId: idField })
const FactorBody = z.object({ friendly_name: friendlyNameField, phone: phoneField })

export const adminFactorsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/admin/users/:userId/factors',
    {
      schema: {
        operationId: 'listUserFactors',
        tags: ['Admin'],
        summary: 'List the second factors of a user',
        params: UserPath,
        response: { 200: z.array(FactorView), ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const userId = requireId('user_id', request.params.userId)
      const { factors } = await getManagedProfile(deps.pools, { userId, audience: readWantedAudience(request) })
      return factors.map(viewFactor)
    },
  )

  app.put(
    '/admin/users/:userId/factors/:factorId',
    {
      schema: {
        operationId: 'updateUserFactor',
        tags: ['Admin'],
        summary: 'Rename a second factor of a user, or change its phone',
        params: FactorPath,
        body: FactorBody,
        response: { 200: FactorView, ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
    },
    async (request) => {
      const managed = readManagedFactor(request, request.params)
      const { friendly_name: name, phone } = request.body
      const friendlyName = name ? requireFriendlyName(name) : undefined
      const changes = { friendlyName, phone: phone || undefined }
      return viewFactor(await changeFactorAsAdmin(deps, { ...managed, ...changes }))
    },
  )

  app.delete(
    '/admin/users/:userId/factors/:factorId',
    {
      schema: {
        operationId: 'deleteUserFactor',
        tags: ['Admin'],
        summary: 'Unenrol a second factor of a user',
        params: FactorPath,
        response: { 200: FactorView, ...errorAnswers(400, 401, 403, 404, 413) },
      },
    },
    async (request) =>
      viewFactor(await unenrolFactorAsAdmin(deps, readManagedFactor(request, request.params), runWorkAlone)),
  )
}

function readManagedFactor(request: FastifyRequest, path: z.output<typeof FactorPath>): ManagedFactor {
  const userId = requireId('user_id', path.userId)
  const factorId = requireId('factor_id', path.factorId)
  const { admin, clientAddress } = request
  return { admin, audience: readWantedAudience(request), userId, factorId, ip: clientAddress.ip }
}
