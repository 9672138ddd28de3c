import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { newKeyChanges } from '../../auth-settings/settings-page.ts'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'

export const newKeyRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/signing-keys/new', { params: z.object({}), changeable: newKeyChanges, read: () => undefined })
}
