import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { PasskeyView, Registration, viewPasskey } from '../../../passkeys/credential.ts'
import { noStore } from '../../../plugins/answers.ts'
import { authenticate } from '../../../plugins/authenticate.ts'
import { requirePasskeys } from '../../../plugins/refuse-feature.ts'
import { idField } from '../../../requests/fields.ts'
import { finishPasskeyRegistration } from '../../../use-cases/finish-passkey-registration.ts'

const VerifyBody = z.object({ challenge_id: idField, credential: Registration })

/** `POST /passkeys/registration/verify`: stores a passkey that an authenticator has created. */
export const passkeyRegistrationVerifyRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(requirePasskeys)
  await app.register(authenticate)

  app.post(
    '/passkeys/registration/verify',
    {
      config: { rateBucket: 'passkey' },
      schema: {
        operationId: 'finishPasskeyRegistration',
        tags: ['Passkeys'],
        summary: 'Register the passkey that an authenticator has made',
        body: VerifyBody,
        response: { 200: PasskeyView, ...errorAnswers(400, 401, 403, 404, 413, 422, 429) },
      },
    },
    async ({ caller, clientAddress, body }) => {
      const { challenge_id: challengeId, credential: response } = body
      return viewPasskey(await finishPasskeyRegistration(deps, { caller, challengeId, response, ip: clientAddress.ip }))
    },
  )
}
