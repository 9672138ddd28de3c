import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'
import { newUserChanges } from '../../users/user-pages.ts'

/** Asks who a new user is, and makes the user. */
export const newUserRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/users/new', { params: z.object({}), changeable: newUserChanges, read: () => undefined })
}
