import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorAnswers } from '../error-body.ts'
import { SentMessageAnswer, showMessageId } from '../messages/message-record.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { reauthenticate } from '../use-cases/reauthenticate.ts'

/** `GET /reauthenticate`: sends the caller the nonce for a change of password. */
export const reauthenticateRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(authenticate)

  app.get(
    '/reauthenticate',
    {
      // Register no HEAD route, because the request sends a message.
      exposeHeadRoute: false,
      schema: {
        operationId: 'reauthenticate',
        tags: ['Account'],
        summary: 'Send a code that a change of password needs',
        response: { 200: SentMessageAnswer, ...errorAnswers(400, 401, 403, 422, 429) },
      },
    },
    async ({ caller, clientAddress }) => {
      const { ip, limitKey } = clientAddress
      const sent = await reauthenticate(app.deps, { caller, ip, limitKey })
      return showMessageId(app.deps.config.compatibility, { endpoint: 'other', ...sent })
    },
  )
}
