import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { noStore } from '../../../plugins/answers.ts'
import { authenticate } from '../../../plugins/authenticate.ts'
import { readSessionOrigin } from '../../../plugins/read-context.ts'
import { needs } from '../../../requests/fields.ts'
import { SessionView } from '../../../sessions/session-view.ts'
import { verifyRecoveryCode } from '../../../use-cases/verify-recovery-code.ts'

const VerifyBody = z.object({ code: z.string().optional().meta({ minLength: 1 }) }).meta(needs('code'))

/** `POST /factors/recovery-codes/verify`: uses up a code, and steps the session up to aal2. */
export const verifyRecoveryCodeRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.post(
    '/factors/recovery-codes/verify',
    {
      config: { rateBucket: 'factor-verify' },
      schema: {
        operationId: 'verifyRecoveryCode',
        tags: ['Second factors'],
        summary: 'Use a recovery code to raise the session to aal2',
        body: VerifyBody,
        response: { 200: SessionView, ...errorAnswers(400, 401, 403, 404, 413, 422, 429) },
      },
    },
    async (request) => {
      const { caller, body } = request
      return verifyRecoveryCode(deps, { caller, code: body.code ?? '', ...readSessionOrigin(request) })
    },
  )
}
