import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, pkceFields } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { metadataBodyBytesMax } from '../plugins/json-body.ts'
import { readContext } from '../plugins/read-context.ts'
import { captchaFields, neededEmailField, needs } from '../requests/fields.ts'
import { requestMagicLink } from '../use-cases/request-magic-link.ts'
import { Metadata } from '../users/metadata.ts'

const MagicLinkBody = z
  .looseObject({
    email: neededEmailField,
    data: Metadata.optional(),
    ...pkceFields,
    ...captchaFields,
  })
  .meta({ ...needs('email'), ...PKCE_TOGETHER })

/** `POST /magiclink`: the same as `POST /otp` with an email. */
export const magiclinkRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/magiclink',
    {
      bodyLimit: metadataBodyBytesMax(deps.config),
      config: { captcha: true, rateBucket: 'magiclink' },
      schema: {
        operationId: 'sendMagicLink',
        tags: ['Sign-in'],
        summary: 'Ask for a magic link',
        security: [],
        querystring: RedirectQuery,
        body: MagicLinkBody,
        response: { 200: z.object({}), ...errorAnswers(400, 403, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body: fields } = request
      await requestMagicLink(deps, { fields, readContext: () => readContext(deps, request, reply) })
      return {}
    },
  )
}
