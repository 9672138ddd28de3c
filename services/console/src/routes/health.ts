import type { FastifyPluginAsync } from 'fastify'

/** 200 while the process runs. `GET /ready` says whether it can serve. */
export const healthRoutes: FastifyPluginAsync = async (app) => {
  app.get('/health', async () => ({ status: 'ok' as const }))
}
