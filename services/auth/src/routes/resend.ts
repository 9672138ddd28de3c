import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, parsePkce, pkceFields } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { requestMessage } from '../message-requests/request-message.ts'
import { SentMessageAnswer, showMessageId } from '../messages/message-id.ts'
import { type MessagePurpose, messageMedium } from '../messages/message-request.ts'
import { requireMessagesEnabled } from '../messages/message-switches.ts'
import { readContext } from '../plugins/request-context.ts'
import {
  addressMissingAtResend,
  resendEmailMissing,
  resendPhoneMissing,
  resendTypeUnsupported,
  twoAddressesAtResend,
} from '../request-errors.ts'
import { captchaFields, emailField, needs, phoneField, withTexts, withValues } from '../requests/documented-fields.ts'
import { requireIdentifier } from '../requests/identifier.ts'

const PURPOSES = {
  signup: 'confirmation',
  email_change: 'email_change',
  sms: 'confirmation',
  phone_change: 'phone_change',
} as const satisfies Record<string, MessagePurpose>

const ResendBody = z
  .looseObject({
    type: z
      .string()
      .optional()
      .meta({ enum: Object.keys(PURPOSES), description: 'The message to send again' }),
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

type ResendBody = z.output<typeof ResendBody>

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
      const purpose = requirePurpose(request.body, deps.config.signup)
      const identifier = requireIdentifier(request.body)
      const pkce = parsePkce(request.body, deps.config.signup.pkce)
      const context = await readContext(deps, request, reply)
      const messageId = await requestMessage(deps, { purpose, identifier, pkce, context })
      const medium = messageMedium({ purpose, identifier })
      request.logFields = { ...request.logFields, message_id: messageId }
      return showMessageId(deps.config.behaviours, { endpoint: 'resend', medium, messageId })
    },
  )
}

/** Checks the members (reference: POST /resend). The order decides which error a client sees. */
function requirePurpose({ type, email, phone }: ResendBody, signup: AuthConfig['signup']): MessagePurpose {
  if (!isResendType(type)) throw resendTypeUnsupported({ types: Object.keys(PURPOSES) })
  if (type === 'signup' && !email) throw resendEmailMissing()
  if (type === 'sms' && !phone) throw resendPhoneMissing()
  if (email && phone) throw twoAddressesAtResend()
  if (!email && !phone) throw addressMissingAtResend()
  requireMessagesEnabled(signup, email ? 'email' : 'phone')
  return PURPOSES[type]
}

function isResendType(type: string | undefined): type is keyof typeof PURPOSES {
  return type !== undefined && Object.hasOwn(PURPOSES, type)
}
