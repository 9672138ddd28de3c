import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { revokeKeysOfApp } from '../../../use-cases/revoke-keys-of-app.ts'

export const operatorAppKeysRoutes: Routes = async (app) => {
  app.delete(
    '/operator/apps/:appId/keys',
    {
      config: { action: 'apps.revoke-keys' },
      schema: {
        operationId: 'revokeKeysOfApp',
        tags: ['Operators'],
        summary: 'Revoke every key of an app',
        params: z.object({ appId: pathId() }),
        response: {
          200: z.object({ revoked: z.int().describe('How many were not revoked before') }),
          ...operatorAnswers(400, 403, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { appId } = request.params
      const change = readOperatorChange(request)
      return sendOperatorAnswer(reply, await revokeKeysOfApp(app.deps, { change, appId }))
    },
  )
}
