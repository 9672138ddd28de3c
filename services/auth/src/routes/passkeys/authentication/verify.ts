import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { Assertion } from '../../../passkeys/credential.ts'
import { noStore } from '../../../plugins/answers.ts'
import { readSessionOrigin } from '../../../plugins/read-context.ts'
import { requirePasskeys } from '../../../plugins/refuse-feature.ts'
import { idField } from '../../../requests/fields.ts'
import { SessionView } from '../../../sessions/session-view.ts'
import { finishPasskeySignIn } from '../../../use-cases/finish-passkey-sign-in.ts'

const VerifyBody = z.object({ challenge_id: idField, credential: Assertion })

/** `POST /passkeys/authentication/verify`: checks the answer of an authenticator and returns a session. */
export const passkeyAuthenticationVerifyRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(requirePasskeys)

  app.post(
    '/passkeys/authentication/verify',
    {
      config: { rateBucket: 'passkey' },
      schema: {
        operationId: 'finishPasskeySignIn',
        tags: ['Passkeys'],
        summary: 'Sign in with a passkey',
        security: [],
        body: VerifyBody,
        response: { 200: SessionView, ...errorAnswers(400, 403, 404, 413, 422, 429) },
      },
    },
    async (request) => {
      const { challenge_id: challengeId, credential: response } = request.body
      return finishPasskeySignIn(deps, { challengeId, response, ...readSessionOrigin(request) })
    },
  )
}
