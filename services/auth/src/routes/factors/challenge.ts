import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { requireChannel } from '../../messages/message-request.ts'
import { CredentialOptions } from '../../passkeys/credential.ts'
import { noStore } from '../../plugins/answers.ts'
import { authenticate } from '../../plugins/authenticate.ts'
import { requireId } from '../../records/ids.ts'
import { channelField, idField } from '../../requests/fields.ts'
import { challengeFactor } from '../../use-cases/challenge-factor.ts'

const ChallengeBody = z.object({ channel: channelField }).nullish()
const ChallengeAnswer = z.object({
  id: z.guid(),
  type: z.enum(['totp', 'phone', 'webauthn']),
  expires_at: z.int().meta({ description: 'When the challenge expires, in seconds since 1970' }),
  webauthn: z
    .object({
      type: z.enum(['create', 'request']),
      credential_options: z.object({ publicKey: CredentialOptions }),
    })
    .optional(),
})

/** `POST /factors/{factor_id}/challenge`: creates a challenge. A phone gets a code. */
export const challengeRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.post(
    '/factors/:factorId/challenge',
    {
      config: { rateBucket: 'factor-challenge' },
      schema: {
        operationId: 'challengeFactor',
        tags: ['Second factors'],
        summary: 'Challenge a second factor',
        description: 'A phone gets a code.',
        params: z.object({ factorId: idField }),
        body: ChallengeBody,
        response: { 200: ChallengeAnswer, ...errorAnswers(400, 401, 403, 404, 413, 422, 429) },
      },
    },
    async ({ caller, clientAddress, params, body }) => {
      const factorId = requireId('factor_id', params.factorId)
      const channel = requireChannel(deps.config.sms.provider, body?.channel)
      const { ip, limitKey } = clientAddress
      const challenge = await challengeFactor(deps, { caller, factorId, channel, ip, limitKey })
      const { id, type, expiresAt, webauthn } = challenge
      const view = { id, type, expires_at: Math.floor(expiresAt.getTime() / 1_000) }
      if (!webauthn) return view
      return { ...view, webauthn: { type: webauthn.type, credential_options: { publicKey: webauthn.options } } }
    },
  )
}
