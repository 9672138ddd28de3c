import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { factorCodeMissing } from '../../factor-errors.ts'
import { requireChallenge } from '../../factors/factor.ts'
import { Assertion, Registration } from '../../passkeys/credential.ts'
import { noStore } from '../../plugins/answers.ts'
import { authenticate } from '../../plugins/authenticate.ts'
import { readSessionOrigin } from '../../plugins/read-context.ts'
import { parseId, requireId } from '../../records/ids.ts'
import { idField, needs, readCode, withTexts } from '../../requests/fields.ts'
import { SessionView } from '../../sessions/session-view.ts'
import { type FactorAnswer, verifyFactor } from '../../use-cases/verify-factor.ts'

const VerifyBody = z
  .object({
    challenge_id: z.string().optional().meta({ format: 'uuid' }),
    code: z
      .string()
      .optional()
      .meta({ pattern: '^[0-9]{6}$', description: 'The code of an authenticator app, or of an SMS' }),
    webauthn: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('create'), credential_response: Registration }),
        z.object({ type: z.literal('request'), credential_response: Assertion }),
      ])
      .optional(),
  })
  .meta({
    ...needs('challenge_id'),
    anyOf: [withTexts(['code']), { ...needs('webauthn'), properties: { webauthn: { type: 'object' } } }],
  })

/** `POST /factors/{factor_id}/verify`: answers a challenge and steps up to aal2. The first answer verifies the factor. */
export const verifyFactorRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.post(
    '/factors/:factorId/verify',
    {
      config: { rateBucket: 'factor-verify' },
      schema: {
        operationId: 'verifyFactor',
        tags: ['Second factors'],
        summary: 'Verify a second factor to raise the session to aal2',
        params: z.object({ factorId: idField }),
        body: VerifyBody,
        response: { 200: SessionView, ...errorAnswers(400, 401, 403, 404, 413, 422, 429) },
      },
    },
    async (request) => {
      const { caller, clientAddress, params, body } = request
      const factorId = requireId('factor_id', params.factorId)
      const answer = readAnswer(body)
      const challengeId = requireChallenge(parseId(body.challenge_id ?? ''))
      const origin = { ...readSessionOrigin(request), network: clientAddress.network }
      return verifyFactor(deps, { caller, factorId, challengeId, answer, ...origin })
    },
  )
}

function readAnswer({ code, webauthn }: z.output<typeof VerifyBody>): FactorAnswer {
  if (webauthn?.type === 'create') return { kind: 'registration', response: webauthn.credential_response }
  if (webauthn) return { kind: 'assertion', response: webauthn.credential_response }
  if (!code) throw factorCodeMissing()
  return { kind: 'code', code: readCode(code) }
}
