import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, pkceFieldsOfForms } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { SentMessageAnswer, showMessageId } from '../messages/message-record.ts'
import { metadataBodyBytesMax } from '../plugins/json-body.ts'
import { readContext } from '../plugins/read-context.ts'
import { captchaFields, channelField, emailField, phoneField, withTexts } from '../requests/fields.ts'
import { requestOneTimeCode } from '../use-cases/request-one-time-code.ts'
import { Metadata } from '../users/metadata.ts'

const OtpBody = z
  .looseObject({
    email: emailField,
    phone: phoneField,
    create_user: z
      .boolean()
      .optional()
      .meta({ default: true, description: 'Whether to make a user with the address if there is none' }),
    data: Metadata.optional(),
    channel: channelField,
    ...pkceFieldsOfForms,
    ...captchaFields,
  })
  .meta({
    oneOf: [{ ...withTexts(['email'], ['phone', 'channel']), ...PKCE_TOGETHER }, withTexts(['phone'], ['email'])],
  })

/** `POST /otp`: sends a link and a code by mail, or a code by SMS, for a sign-in. */
export const otpRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/otp',
    {
      bodyLimit: metadataBodyBytesMax(deps.config),
      config: { captcha: true, rateBucket: 'otp' },
      schema: {
        operationId: 'sendOneTimeCode',
        tags: ['Sign-in'],
        summary: 'Ask for a one-time code or a magic link',
        description:
          'An email gets a mail with a link and a code, a phone an SMS with a code. The link leads to `redirect_to` with a session. `POST /verify` takes the code, with the type `email` or `sms`, and answers a session.',
        security: [],
        querystring: RedirectQuery,
        body: OtpBody,
        response: { 200: SentMessageAnswer, ...errorAnswers(400, 403, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body: fields } = request
      const sent = await requestOneTimeCode(deps, { fields, readContext: () => readContext(deps, request, reply) })
      return sent.medium === 'sms' ? showMessageId(deps.config.compatibility, { endpoint: 'other', ...sent }) : {}
    },
  )
}
