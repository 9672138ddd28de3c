import type { FastifyPluginAsync } from 'fastify'

/** Returns 200 while the process runs. `GET /ready` reports whether it can serve. */
export const healthRoutes: FastifyPluginAsync = async (app) => {
  app.get('/health', async () => ({ status: 'ok' as const }))
}
