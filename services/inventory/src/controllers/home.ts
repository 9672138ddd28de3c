import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ErrorView } from '../error-vocabulary.ts'
import { NoQuery } from '../http/no-query.ts'
import { serviceVersion } from '../version.ts'

/** GET / and GET /health */
export const homeController: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/',
    {
      schema: {
        summary: 'Name and version of this service',
        tags: ['service'],
        querystring: NoQuery,
        response: { 200: z.object({ name: z.string(), version: z.string(), docs: z.string() }), 400: ErrorView },
      },
    },
    () => ({ name: 'inventory', version: serviceVersion, docs: '/docs' }),
  )

  app.get(
    '/health',
    {
      schema: {
        summary: 'Whether the process answers',
        tags: ['service'],
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    () => ({ status: 'ok' as const }),
  )
}
