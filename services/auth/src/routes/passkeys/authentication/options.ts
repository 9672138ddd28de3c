import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorAnswers } from '../../../error-body.ts'
import { PasskeyQuestionView, viewPasskeyQuestion } from '../../../passkeys/credential.ts'
import { noStore } from '../../../plugins/answers.ts'
import { requirePasskeys } from '../../../plugins/refuse-feature.ts'
import { startPasskeySignIn } from '../../../use-cases/start-passkey-sign-in.ts'

/** `POST /passkeys/authentication/options`: returns the challenge of a sign-in, which names no user. */
export const passkeyAuthenticationOptionsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(requirePasskeys)

  app.post(
    '/passkeys/authentication/options',
    {
      config: { captcha: true, rateBucket: 'passkey' },
      schema: {
        operationId: 'startPasskeySignIn',
        tags: ['Passkeys'],
        summary: 'Start to sign in with a passkey',
        security: [],
        response: { 200: PasskeyQuestionView, ...errorAnswers(400, 404, 413, 429) },
      },
    },
    async () => viewPasskeyQuestion(await startPasskeySignIn(deps)),
  )
}
