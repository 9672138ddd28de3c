import type { FastifyPluginAsync } from 'fastify'

/** `GET /openapi.json`: the document that describes this API. */
export const openapiRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/openapi.json', { schema: { hide: true } }, documentPages.document)
}
