import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { notReady } from '../errors.ts'

/** `GET /ready`: says whether the process is ready for requests. */
export const readyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/ready',
    {
      schema: {
        operationId: 'getReady',
        tags: ['Service'],
        summary: 'Check that the process should get requests',
        security: [],
        response: { 200: z.object({ status: z.literal('ready') }), ...errorAnswers() },
      },
    },
    () => answerReady(app.deps.readiness, notReady),
  )
}
