import { z } from 'zod'
import { CreatedAppView, viewCreatedApp } from '../apps/app-view.ts'
import { errorAnswers } from '../error-body.ts'
import { type Routes, requireValues } from '../plugins/read-request.ts'
import { refuseBeyond } from '../plugins/refuse-beyond.ts'
import { name, text } from '../requests/fields.ts'
import { registerApp } from '../use-cases/register-app.ts'

const CODE_LENGTH_MAX = 255

/** `code` counts only where registration is by invitation. */
const AppBody = z.object({ name: name().optional(), code: text().max(CODE_LENGTH_MAX).optional() })

/** Makes an app. Needs no credentials, and ignores them (reference: Registration). */
export const appsRoutes: Routes = async (app) => {
  const refuse = refuseBeyond(app, 'apps', app.deps.rateLimits.apps)
  app.post(
    '/apps',
    {
      onRequest: (request) => refuse(request.ip),
      schema: {
        operationId: 'createApp',
        tags: ['Access'],
        summary: 'Create an app and its secret key',
        description: 'Where registration is by invitation, `code` is one that the operator has given out.',
        security: [],
        body: AppBody,
        bodyRequired: false,
        response: { 201: z.object({ app: CreatedAppView }), ...errorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const body = requireValues(request.body)
      reply.code(201)
      return { app: viewCreatedApp(await registerApp(app.deps, body)) }
    },
  )
}
