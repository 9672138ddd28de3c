import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { pageQuery } from '../pages/list.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { MessagesQuery, messagesPage } from '../users/message-list.ts'
import { MessagesView } from '../users/user-view.ts'

export const messagesRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/messages', { schema: { querystring: MessagesQuery } }, async (request, reply) => {
    const { user, status, ...place } = request.query
    const asked = { ...pageQuery(place), user, status }
    const listed = await visitOf(request).calls.read('auth', '/operator/messages', MessagesView, asked)
    return sendPage(request, reply, messagesPage(request.query, listed, viewerOf(request)))
  })
}
