import { z } from 'zod'
import { requireObject } from '../access/require-access.ts'
import { IdentityView, viewIdentity } from '../apps/app.ts'
import { readIdentity } from '../apps/app-repository.ts'
import { errorAnswers } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'

/** Reads the identity of the caller (reference: Identity of the caller). */
export const meRoutes: Routes = async (app) => {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'getIdentity',
        tags: ['Access'],
        summary: 'Get the identity of the caller',
        response: { 200: z.object({ identity: IdentityView }), ...errorAnswers(401) },
      },
    },
    async ({ caller, input }) => {
      const result = await readIdentity(app.deps.pools, caller)
      return { identity: viewIdentity(requireObject(caller, result, { input, name: 'identity' })) }
    },
  )
}
