import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { type Message, MessageView, viewMessage } from '../../../messages/message-record.ts'
import { type OperatorEffect, recordOperatorChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { readClient } from '../../../plugins/read-context.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { resendMessageForOperator } from '../../../use-cases/operator/resend-message.ts'

const schema = {
  operationId: 'resendMessageAsOperator',
  tags: ['Operators'],
  summary: 'Send a message again',
  description: 'As a new message with a new code and a new link. Those of the last message do not work any more.',
  params: z.object({ messageId: idField }),
  response: { 201: z.object({ message: MessageView }), ...errorAnswers(400, 401, 403, 404, 409, 413, 429) },
}

/** `POST /operator/messages/:messageId/resend`: sends a message again (console reference: Messages of operators). */
export const operatorResendRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'messages.resend' }, schema } as const
  app.post('/operator/messages/:messageId/resend', options, (request, reply) =>
    answerChange(request, reply, async (change, { admin }) => {
      const messageId = requireId('message_id', request.params.messageId)
      // The link leads to the site URL, even if the first message had another redirect.
      const context = { ...(await readClient(deps, request)), redirectTo: deps.config.signup.redirects.siteUrl }
      const runWork = recordOperatorChange<Message>(change, (message) => resentMessage(messageId, message))
      return resendMessageForOperator(deps, { admin, messageId, context }, runWork)
    }),
  )
}

function resentMessage(of: string, message: Message): OperatorEffect {
  return {
    status: 201,
    answer: { message: viewMessage(message) },
    object: { kind: 'user', id: message.userId },
    changes: { of, message: message.id, purpose: message.purpose },
  }
}
