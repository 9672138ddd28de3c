import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { KID, type SigningKeyStatus, SigningKeyView, viewSigningKey } from '../../access-tokens/signing-key.ts'
import { listSigningKeyStatus } from '../../access-tokens/signing-key-repository.ts'
import { errorAnswers } from '../../error-body.ts'
import { signingKeyInUse, signingKeyTaken } from '../../errors.ts'
import {
  type OperatorEffect,
  recordOperatorChange,
  refuseUnknownKey,
  toKeyEffect,
} from '../../operators/operator-change-repository.ts'
import { answerChange } from '../../plugins/authenticate-operator.ts'
import { addSigningKey, type Retirement, retireSigningKey } from '../../use-cases/manage-signing-keys.ts'

const tags = ['Operators']
const listSchema = {
  operationId: 'listSigningKeys',
  tags,
  summary: 'List the signing keys',
  description: 'Every key that has ever existed, the newest first. Where none is active, AUTH_JWT_SECRET signs.',
  response: { 200: z.object({ keys: z.array(SigningKeyView) }), ...errorAnswers(401, 404) },
}
const addSchema = {
  operationId: 'addSigningKey',
  tags,
  summary: 'Add a signing key',
  description: 'The key is published at once, and signs once it is promoted.',
  body: z.object({
    algorithm: z.enum(['ES256', 'RS256', 'EdDSA']),
    kid: z.string().regex(KID).optional().meta({ description: 'Never given again. Default: a random UUID' }),
  }),
  response: { 201: z.object({ key: SigningKeyView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}
const retireSchema = {
  operationId: 'retireSigningKey',
  tags,
  summary: 'Retire a signing key',
  description: 'A key that signs, or whose tokens may be good, is refused. `auth keys retire` retires it.',
  params: z.object({ kid: z.string() }),
  response: { 200: z.object({ key: SigningKeyView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

export const operatorKeysRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get('/operator/keys', { config: { action: 'settings.read' }, schema: listSchema }, async () => ({
    keys: (await listSigningKeyStatus(deps.db)).map(viewSigningKey),
  }))

  app.post(
    '/operator/keys',
    { config: { action: 'signing-keys.manage', namesFields: true }, schema: addSchema },
    (request, reply) =>
      answerChange(request, reply, async (change) => {
        const { algorithm: alg, kid = randomUUID() } = request.body
        return addSigningKey(deps, { alg, kid }, recordOperatorChange(change, toAddition))
      }),
  )

  app.delete(
    '/operator/keys/:kid',
    { config: { action: 'signing-keys.manage' }, schema: retireSchema },
    (request, reply) =>
      answerChange(request, reply, async (change) => {
        const { kid } = request.params
        return retireSigningKey(deps, { kid, tokens: 'expect-none' }, recordOperatorChange(change, toRetirement))
      }),
  )
}

function toAddition(key: SigningKeyStatus | undefined): OperatorEffect {
  if (key === undefined) throw signingKeyTaken()
  return toKeyEffect(key, { algorithm: key.alg, state: 'next' }, 201)
}

function toRetirement(result: Retirement): OperatorEffect {
  if (result.verdict === 'unknown') return refuseUnknownKey()
  if (result.verdict === 'in-use') throw signingKeyInUse()
  return toKeyEffect(result.key, { state: 'over' })
}
