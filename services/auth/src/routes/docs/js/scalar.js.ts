import type { FastifyPluginAsync } from 'fastify'

/** `GET /docs/js/scalar.js`: the script of the page at `/docs`. */
export const docsScriptRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/docs/js/scalar.js', { schema: { hide: true } }, documentPages.script)
}
