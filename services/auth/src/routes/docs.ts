import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'

const page = { description: 'The page', content: { 'text/html': { schema: z.string() } } }
const schema = {
  operationId: 'showDocs',
  tags: ['Service'],
  summary: 'Show this document in a browser',
  security: [],
  response: { 200: page, 301: z.undefined(), 304: z.undefined(), ...errorAnswers() },
}

export const docsRoutes: FastifyPluginAsync = async (app) => {
  const { documentPages } = app
  if (documentPages !== undefined) app.get('/docs', { schema }, documentPages.page)
}
