import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'
import { newUserChanges } from '../../users/user-pages.ts'

export const inviteRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/users/invite', { params: z.object({}), changeable: newUserChanges, read: () => undefined })
}
