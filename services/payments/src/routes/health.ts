import { z } from 'zod'
import { errorAnswersWithoutLimit } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'

/** Returns 200 while the process runs. `GET /ready` says whether the process can serve requests. */
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
