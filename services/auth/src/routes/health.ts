import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { SUPABASE_AUTH_VERSION, VERSION } from '../version.ts'

const HealthAnswer = z.object({ version: z.string(), name: z.string(), description: z.string() })

/** `GET /health`: reports that the process answers. It does not query the database. */
export const healthRoutes: FastifyPluginAsyncZod = async (app) => {
  const name = app.deps.config.compatibility.healthName
  const answer = {
    version: name === 'GoTrue' ? SUPABASE_AUTH_VERSION : VERSION,
    name,
    description: `${name} is a user registration and authentication API`,
  }
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
    async () => answer,
  )
}
