import { z } from 'zod'
import { errorAnswersWithoutLimit } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'

/** 200 while the process lives. `GET /ready` tells whether it can serve. */
export const healthRoutes: Routes = async (app) => {
  app.get(
    '/health',
    {
      schema: {
        operationId: 'getHealth',
        tags: ['Service'],
        summary: 'Check that the process answers',
        security: [],
        response: { 200: z.object({ status: z.literal('ok') }), ...errorAnswersWithoutLimit() },
      },
    },
    async () => ({
      status: 'ok' as const,
    }),
  )
}
