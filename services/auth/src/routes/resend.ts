import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, pkceFields } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { SentMessageAnswer, showMessageId } from '../messages/message-record.ts'
import { readContext } from '../plugins/read-context.ts'
import { captchaFields, emailField, needs, phoneField, withTexts, withValues } from '../requests/fields.ts'
import { RESEND_TYPES, resendMessage } from '../use-cases/resend-message.ts'

const ResendBody = z
  .looseObject({
    type: z.string().optional().meta({ enum: RESEND_TYPES, description: 'The message to send again' }),
    email: emailField,
    phone: phoneField,
    ...pkceFields,
    ...captchaFields,
  })
  .meta({
    ...needs('type'),
    anyOf: [
      withValues('type', ['signup', 'email_change', 'phone_change'], withTexts(['email'], ['phone'])),
      withValues('type', ['sms', 'email_change', 'phone_change'], withTexts(['phone'], ['email'])),
    ],
    ...PKCE_TOGETHER,
  })

/** `POST /resend`: sends the message of a pending confirmation again. */
export const resendRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/resend',
    {
      config: { captcha: true, rateBucket: 'resend' },
      schema: {
        operationId: 'resendMessage',
        tags: ['Sign-in'],
        summary: 'Ask for a confirmation message again',
        security: [],
        querystring: RedirectQuery,
        body: ResendBody,
        response: { 200: SentMessageAnswer, ...errorAnswers(400, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body: fields } = request
      const sent = await resendMessage(deps, { fields, readContext: () => readContext(deps, request, reply) })
      request.logFields = { ...request.logFields, message_id: sent.messageId }
      return showMessageId(deps.config.compatibility, { endpoint: 'resend', ...sent })
    },
  )
}
