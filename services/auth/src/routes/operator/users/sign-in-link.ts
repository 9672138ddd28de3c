import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import {
  type OperatorChange,
  recordOperatorChange,
  requireUnprotected,
} from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { readContext } from '../../../plugins/read-context.ts'
import { refusePath } from '../../../plugins/refuse-feature.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { generateSignInLink } from '../../../use-cases/generate-sign-in-link.ts'

const REASON_LENGTH_MAX = 255

const schema = {
  operationId: 'generateSignInLink',
  tags: ['Operators'],
  summary: 'Generate a link that signs in as a user',
  description: 'Good once and for ten minutes. Needs `AUTH_OPERATOR_SIGN_IN_AS`; nobody signs in as an operator.',
  params: z.object({ userId: idField }),
  body: z.object({
    reason: z.string().min(1).max(REASON_LENGTH_MAX).meta({ description: 'Why; the audit log keeps it' }),
  }),
  response: { 201: z.object({ link: z.string() }), ...errorAnswers(400, 401, 403, 404, 409, 413, 422) },
}

/** `POST /operator/users/:userId/sign-in-link`: creates a link to sign in as a user (console reference: Routes of auth). */
export const operatorSignInLinkRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'users.sign-in-as', namesFields: true }, schema } as const
  app.post('/operator/users/:userId/sign-in-link', options, (request, reply) =>
    answerChange(request, reply, async (change) => {
      if (!deps.config.operators.mayHaveSignInLinks) refusePath()
      const { reason } = request.body
      const userId = requireId('user_id', request.params.userId)
      const context = await readContext(deps, request, reply, undefined)
      const admin = requireUnprotected(change, deps.config.jwt)
      return generateSignInLink(deps, { admin, userId, context }, recordLink(change, userId, reason))
    }),
  )
}

function recordLink(change: OperatorChange, id: string, reason: string) {
  return recordOperatorChange<string>(change, (link) => {
    return { status: 201, answer: { link }, object: { kind: 'user', id }, changes: { reason } }
  })
}
