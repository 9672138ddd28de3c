import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswersWithoutLimit, pageAnswers } from '../error-body.ts'

const schema = {
  operationId: 'showDocs',
  tags: ['Service'],
  summary: 'Show this document in a browser',
  security: [],
  response: { ...pageAnswers(200), 301: z.undefined(), 304: z.undefined(), ...errorAnswersWithoutLimit() },
}

export const docsRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/docs', { schema }, documentPages.page)
}
