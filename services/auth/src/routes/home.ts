import { renderServicePage, wantsPage } from '@trestle/common/documents/front-page.ts'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { refusePath } from '../plugins/refuse-feature.ts'

const frontPage = renderServicePage({
  title: 'Trestle auth',
  about: 'Accounts, sessions and tokens, with the API of GoTrue (Supabase Auth).',
  readme: 'services/auth/README.md',
})
const page = { description: 'The page', content: { 'text/html': { schema: z.string() } } }
const schema = {
  operationId: 'showFrontPage',
  tags: ['Service'],
  summary: 'Show links to this document in a browser',
  description: 'Only a browser gets the page: a client whose Accept names text/html.',
  security: [],
  response: { 200: page, ...errorAnswers(404) },
}

export const homeRoutes: FastifyPluginAsync = async (app) => {
  app.get('/', { schema }, async (request, reply) => {
    if (app.documentPages === undefined || !wantsPage(request.headers.accept)) refusePath()
    return reply.headers(frontPage.headers).send(frontPage.html)
  })
}
