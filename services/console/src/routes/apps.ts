import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { AppsView, appChanges, appsPage, type KnownApp } from '../merchants/app-list.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { addChangeRoutes, findById } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const LIST = '/operator/apps'
const AppParams = z.object({ appId: z.string().max(64) })

export const appsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/apps', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await visitOf(request).calls.read('payments', LIST, AppsView, pageQuery(request.query))
    return sendPage(request, reply, appsPage(request.query, listed, viewerOf(request)))
  })

  addChangeRoutes(app, '/apps/:appId/:change', { params: AppParams, changeable: appChanges, read: readApp })
}

/** Apps have no URL of their own, so find the app by its id. */
async function readApp(request: FastifyRequest, { appId }: z.infer<typeof AppParams>): Promise<KnownApp> {
  const { value } = await visitOf(request).calls.read('payments', LIST, AppsView, { search: appId })
  return { app: findById(value.apps, appId) }
}
