import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'

const schema = {
  operationId: 'getApiDocument',
  tags: ['Service'],
  summary: 'Get this document',
  security: [],
  response: { 200: z.looseObject({ openapi: z.string() }), 304: z.undefined(), ...errorAnswers() },
}

/** `GET /openapi.json`: the API document, unless DOCS_ENABLED is off. */
export const openapiRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/openapi.json', { schema }, documentPages.document)
}
