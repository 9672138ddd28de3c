import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { requireAccess } from '../access/require-access.ts'
import { readIdentity } from '../apps/app-repository.ts'
import { IdentityView, viewIdentity } from '../apps/app-view.ts'
import { errorAnswers } from '../error-body.ts'
import { unauthorized } from '../errors.ts'

/** Reads the identity of the caller (reference: Identity of the caller). */
export const meRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/me',
    {
      schema: {
        summary: 'Fetch the identity of the caller',
        response: { 200: z.object({ identity: IdentityView }), ...errorAnswers(401) },
      },
    },
    async ({ caller, flaw }) => {
      const { identity } = requireAccess(caller, await readIdentity(app.deps.lanes, caller), flaw)
      if (!identity) throw unauthorized()
      return { identity: viewIdentity(identity) }
    },
  )
}
