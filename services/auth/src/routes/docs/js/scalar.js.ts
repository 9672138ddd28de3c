import type { FastifyPluginAsync } from 'fastify'

export const docsScriptRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/docs/js/scalar.js', { schema: { hide: true } }, documentPages.script)
}
