import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { CreatedAppView, viewCreatedApp } from '../apps/app-view.ts'
import { name } from '../bodies/fields.ts'
import { errorResponses } from '../error-view.ts'
import { refuseBeyond } from '../plugins/refuse-beyond.ts'
import { createApp } from '../use-cases/create-app.ts'

const AppBody = z.object({ name: name().optional() })

/** Making an app needs no credentials and ignores any. @see contract 8.1 */
export const appsRoutes: FastifyPluginAsyncZod = async (app) => {
  const refuse = refuseBeyond(app, 'apps', app.deps.limits.apps)
  app.post(
    '/apps',
    {
      onRequest: (request) => refuse(request.ip),
      schema: {
        summary: 'Create an app and its secret key',
        security: [],
        body: AppBody,
        response: { 201: z.object({ app: CreatedAppView }), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      if (request.flaw) throw request.flaw.error
      reply.code(201)
      return { app: viewCreatedApp(await createApp(app.deps, { name: request.body.name })) }
    },
  )
}
