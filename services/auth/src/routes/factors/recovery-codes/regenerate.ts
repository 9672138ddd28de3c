import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorAnswers } from '../../../error-body.ts'
import { RecoveryCodesView, viewRecoveryCodes } from '../../../factors/enrolment.ts'
import { noStore } from '../../../plugins/answers.ts'
import { authenticate } from '../../../plugins/authenticate.ts'
import { regenerateRecoveryCodes } from '../../../use-cases/regenerate-recovery-codes.ts'

/** `POST /factors/recovery-codes/regenerate`: replaces all codes and invalidates the old ones. */
export const regenerateRecoveryCodesRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.post(
    '/factors/recovery-codes/regenerate',
    {
      schema: {
        operationId: 'regenerateRecoveryCodes',
        tags: ['Second factors'],
        summary: 'Replace the own recovery codes',
        description: 'The old codes are void. The new ones are shown this once.',
        response: { 200: RecoveryCodesView, ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
    },
    async ({ caller, clientAddress }) =>
      viewRecoveryCodes(await regenerateRecoveryCodes(deps, { caller, ip: clientAddress.ip })),
  )
}
