import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorAnswers } from '../../../error-body.ts'
import { PasskeyQuestionView, viewPasskeyQuestion } from '../../../passkeys/credential.ts'
import { noStore } from '../../../plugins/answers.ts'
import { authenticate } from '../../../plugins/authenticate.ts'
import { requirePasskeys } from '../../../plugins/refuse-feature.ts'
import { startPasskeyRegistration } from '../../../use-cases/start-passkey-registration.ts'

/** `POST /passkeys/registration/options`: returns the challenge for a new passkey of the caller. */
export const passkeyRegistrationOptionsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(requirePasskeys)
  await app.register(authenticate)

  app.post(
    '/passkeys/registration/options',
    {
      config: { rateBucket: 'passkey' },
      schema: {
        operationId: 'startPasskeyRegistration',
        tags: ['Passkeys'],
        summary: 'Start to register a passkey',
        response: { 200: PasskeyQuestionView, ...errorAnswers(400, 401, 403, 404, 413, 422, 429) },
      },
    },
    async ({ caller }) => viewPasskeyQuestion(await startPasskeyRegistration(deps, caller)),
  )
}
