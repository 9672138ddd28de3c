import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { appChanges, type KnownApp } from '../merchants/app-changes.ts'
import { AppsView, appsPage } from '../merchants/app-list.ts'
import { GivenFields } from '../pages/asked-change.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { answerChange, askChange, findById } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const LIST = '/operator/apps'
const ChangeParams = z.object({ appId: z.string().max(64), change: z.string().max(32) })

/** The list of apps, and the question before the keys of one are revoked. */
export const appsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/apps', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await visitOf(request).calls.read('payments', LIST, AppsView, pageQuery(request.query))
    return sendPage(request, reply, appsPage(request.query, listed, viewerOf(request)))
  })

  app.get(
    '/apps/:appId/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readApp(request, request.params) }
      return askChange(request, reply, appChanges, named)
    },
  )

  app.post('/apps/:appId/:change', { schema: { params: ChangeParams, body: GivenFields } }, async (request, reply) => {
    const named = { name: request.params.change, shown: await readApp(request, request.params) }
    return answerChange(request, reply, appChanges, named)
  })
}

/** Apps have no address of their own, and are found by their id. */
async function readApp(request: FastifyRequest, { appId }: z.infer<typeof ChangeParams>): Promise<KnownApp> {
  const { value } = await visitOf(request).calls.read('payments', LIST, AppsView, { search: appId })
  return { app: findById(value.apps, appId) }
}
