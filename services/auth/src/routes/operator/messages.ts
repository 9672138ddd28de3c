import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { MessageView, viewMessage } from '../../messages/message-record.ts'
import { listMessages } from '../../messages/message-repository.ts'
import { operatorListFields, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'

const schema = {
  operationId: 'listMessages',
  tags: ['Operators'],
  summary: 'List mails and SMS',
  description: 'Those of the last 30 days, newest first. The header Link leads to the next page.',
  querystring: z.object({
    ...operatorListFields,
    user: z.guid().optional().meta({ description: 'Whose messages' }),
    status: MessageView.shape.status.optional(),
  }),
  response: { 200: z.object({ messages: z.array(MessageView) }), ...errorAnswers(400, 401, 404) },
}

/** `GET /operator/messages`: lists mails and SMS, with the reasons of failures (console reference: Routes of auth). */
export const operatorMessagesRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.get('/operator/messages', { config: { action: 'messages.read' }, schema }, async (request, reply) => {
    const { query } = request
    const page = readOperatorPage('messages', query)
    const { user, status } = query
    const rows = await request.withSlots(1, () => listMessages(deps.db, { ...page, user, status }))
    return { messages: showOperatorPage(reply, page, { rows, placeOf: (message) => message }).map(viewMessage) }
  })
}
