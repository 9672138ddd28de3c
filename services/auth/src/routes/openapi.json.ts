import type { FastifyPluginAsync } from 'fastify'

/** `GET /openapi.json`: the API document, unless DOCS_ENABLED is off. */
export const openapiRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/openapi.json', { schema: { hide: true } }, documentPages.document)
}
