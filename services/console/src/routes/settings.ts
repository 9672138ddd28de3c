import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { AuthSettings, settingsPage } from '../auth-settings/settings-page.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

export const settingsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/settings', async (request, reply) => {
    const { value } = await visitOf(request).calls.read('auth', '/operator/settings', AuthSettings)
    return sendPage(request, reply, settingsPage(value))
  })
}
