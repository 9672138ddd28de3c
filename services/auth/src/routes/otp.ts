import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, parsePkce, pkceFieldsOfForms } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import type { OneTimeCodeInput } from '../message-requests/one-time-code.ts'
import { SentMessageAnswer, showMessageId } from '../messages/message-id.ts'
import { requireOneTimeCodesEnabled } from '../messages/message-switches.ts'
import { requireChannel } from '../messages/require-channel.ts'
import { metadataBodyBytesMax } from '../plugins/json-body.ts'
import { readContext } from '../plugins/request-context.ts'
import { addressMissingAtOtp, channelWithEmail, twoAddressesAtOtp } from '../request-errors.ts'
import { captchaFields, channelField, emailField, phoneField, withTexts } from '../requests/documented-fields.ts'
import { requireIdentifier } from '../requests/identifier.ts'
import { type MagicLinkDeps, requestMagicLink } from '../use-cases/request-magic-link.ts'
import { type PhoneCodeDeps, sendPhoneCode } from '../use-cases/send-phone-code.ts'
import { Metadata, requireMetadata } from '../users/metadata.ts'

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

type OtpBody = z.output<typeof OtpBody>

/** `POST /otp`: sends what a user signs in with: a link and a code by mail, or a code by SMS. */
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
      const { body } = request
      requireOneIdentifier(body)
      const data = requireMetadata(deps.config, body.data)
      const context = await readContext(deps, request, reply)
      const wanted = { createUser: body.create_user ?? true, data, context }
      if (!body.email) return sendSms(deps, body, wanted)
      await sendMail(deps, body, wanted)
      return {}
    },
  )
}

type WantedCode = Omit<OneTimeCodeInput, 'identifier'>

/** @throws emailSignInsDisabled, and what `requireIdentifier`, `parsePkce` and `requestMagicLink` throw */
async function sendMail(deps: MagicLinkDeps, body: OtpBody, wanted: WantedCode): Promise<void> {
  requireOneTimeCodesEnabled(deps.config.signup, 'email')
  const identifier = requireIdentifier(body)
  await requestMagicLink(deps, { ...wanted, identifier, pkce: parsePkce(body, deps.config.signup.pkce) })
}

/** @throws phoneCodesDisabled, channelUnsupported, and what `requireIdentifier` and `sendPhoneCode` throw */
async function sendSms(deps: PhoneCodeDeps, body: OtpBody, wanted: WantedCode): Promise<SentMessageAnswer> {
  const channel = requireChannel(deps.config.sms.provider, body.channel)
  requireOneTimeCodesEnabled(deps.config.signup, 'phone')
  const messageId = await sendPhoneCode(deps, { ...wanted, identifier: requireIdentifier(body), channel })
  return showMessageId(deps.config.behaviours, { endpoint: 'other', medium: 'sms', messageId })
}

function requireOneIdentifier({ email, phone, channel }: OtpBody): void {
  if (email && phone) throw twoAddressesAtOtp()
  if (email && channel) throw channelWithEmail()
  if (!email && !phone) throw addressMissingAtOtp()
}
