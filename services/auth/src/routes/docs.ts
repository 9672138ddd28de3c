import type { FastifyPluginAsync } from 'fastify'

/** `GET /docs`: a page that shows the API document. */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/docs', { schema: { hide: true } }, documentPages.page)
}
