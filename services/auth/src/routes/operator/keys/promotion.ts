import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { JWKS_MAX_AGE_SECONDS } from '../../../access-tokens/key-ring.ts'
import { SigningKeyView } from '../../../access-tokens/signing-key.ts'
import { errorAnswers } from '../../../error-body.ts'
import { signingAlgorithmOff, signingKeyOver, signingKeyTooYoung } from '../../../errors.ts'
import {
  type OperatorEffect,
  recordOperatorChange,
  refuseUnknownKey,
  toKeyEffect,
} from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { type Promotion, promoteSigningKey } from '../../../use-cases/manage-signing-keys.ts'

const schema = {
  operationId: 'promoteSigningKey',
  tags: ['Operators'],
  summary: 'Sign with a key',
  description: 'The key that has signed before verifies until its last token has expired.',
  params: z.object({ kid: z.string() }),
  response: { 200: z.object({ key: SigningKeyView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

/** `POST /operator/keys/:kid/promotion`: makes a key active if other services know it (console reference: Routes of auth). */
export const operatorKeyPromotionRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'signing-keys.manage' }, schema } as const
  app.post('/operator/keys/:kid/promotion', options, (request, reply) =>
    answerChange(request, reply, async (change) => {
      const input = { kid: request.params.kid, ageSecondsMin: JWKS_MAX_AGE_SECONDS }
      return promoteSigningKey(deps, input, recordOperatorChange(change, toPromotion))
    }),
  )
}

function toPromotion(result: Promotion): OperatorEffect {
  switch (result.verdict) {
    case 'promoted':
      return toKeyEffect(result.key, { state: 'active', retired: result.retired?.kid ?? null })
    case 'active-already':
      return toKeyEffect(result.key, { state: 'active' })
    case 'unknown':
      return refuseUnknownKey()
    case 'over':
      throw signingKeyOver()
    case 'refused':
      throw signingAlgorithmOff()
    case 'too-young':
      throw signingKeyTooYoung({ headers: { 'retry-after': String(result.waitSeconds) } })
  }
}
