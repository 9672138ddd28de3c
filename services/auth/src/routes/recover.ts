import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, pkceFields } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { readContext } from '../plugins/read-context.ts'
import { captchaFields, neededEmailField, needs } from '../requests/fields.ts'
import { recoverAccount } from '../use-cases/recover-account.ts'

const RecoverBody = z
  .looseObject({ email: neededEmailField, ...pkceFields, ...captchaFields })
  .meta({ ...needs('email'), ...PKCE_TOGETHER })

/** `POST /recover`: mails a link by which a user may set a new password. */
export const recoverRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/recover',
    {
      config: { captcha: true, rateBucket: 'recover' },
      schema: {
        operationId: 'recoverAccount',
        tags: ['Sign-in'],
        summary: 'Ask for a mail to recover an account',
        security: [],
        querystring: RedirectQuery,
        body: RecoverBody,
        response: { 200: z.object({}), ...errorAnswers(400, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body: fields } = request
      await recoverAccount(deps, { fields, readContext: () => readContext(deps, request, reply) })
      return {}
    },
  )
}
