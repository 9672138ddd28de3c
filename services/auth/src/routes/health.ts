import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { VERSION } from '../version.ts'

const HealthAnswer = z.object({ version: z.string(), name: z.string(), description: z.string() })

/** `GET /health`: the process answers. It asks nothing of the database. */
export const healthRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/health',
    {
      schema: {
        operationId: 'getHealth',
        tags: ['Service'],
        summary: 'Check that the process answers',
        security: [],
        response: { 200: HealthAnswer, ...errorAnswers() },
      },
    },
    async () => ({
      version: VERSION,
      name: 'Auth',
      description: 'Auth is a user registration and authentication API',
    }),
  )
}
