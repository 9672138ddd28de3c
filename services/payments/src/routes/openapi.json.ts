import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswersWithoutLimit } from '../error-body.ts'

const schema = {
  operationId: 'getApiDocument',
  tags: ['Service'],
  summary: 'Get this document',
  security: [],
  response: { 200: z.looseObject({ openapi: z.string() }), 304: z.undefined(), ...errorAnswersWithoutLimit() },
}

export const openapiRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/openapi.json', { schema }, documentPages.document)
}
