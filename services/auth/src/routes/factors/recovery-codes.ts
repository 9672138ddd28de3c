import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { RecoveryCodesView, viewRecoveryCodes } from '../../factors/enrolment.ts'
import { friendlyNameField, requireFriendlyName } from '../../factors/factor.ts'
import { noStore } from '../../plugins/answers.ts'
import { authenticate } from '../../plugins/authenticate.ts'
import { unenrolFactor } from '../../use-cases/enrol-factor.ts'
import { generateRecoveryCodes, getRecoveryCodeCounts } from '../../use-cases/generate-recovery-codes.ts'

const GenerateBody = z.object({ friendly_name: friendlyNameField }).nullish()
const StatusAnswer = z.object({
  id: z.guid(),
  type: z.literal('recovery_code'),
  total: z.int(),
  remaining: z.int(),
})

const USUAL_NAME = 'Recovery codes'

/** `GET`, `POST` and `DELETE /factors/recovery-codes`: codes for users who lose their other second factors. */
export const recoveryCodesRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.get(
    '/factors/recovery-codes',
    {
      schema: {
        operationId: 'getRecoveryCodes',
        tags: ['Second factors'],
        summary: 'Count the recovery codes that are left',
        response: { 200: StatusAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller }) => {
      const { factor, total, remaining } = await getRecoveryCodeCounts(deps, caller)
      return { id: factor.id, type: 'recovery_code' as const, total, remaining }
    },
  )

  app.post(
    '/factors/recovery-codes',
    {
      schema: {
        operationId: 'createRecoveryCodes',
        tags: ['Second factors'],
        summary: 'Create recovery codes',
        description: 'They are shown this once.',
        body: GenerateBody,
        response: { 200: RecoveryCodesView, ...errorAnswers(400, 401, 403, 413, 422) },
      },
    },
    async ({ caller, clientAddress, body }) => {
      const friendlyName = requireFriendlyName(body?.friendly_name || USUAL_NAME)
      return viewRecoveryCodes(await generateRecoveryCodes(deps, { caller, friendlyName, ip: clientAddress.ip }))
    },
  )

  app.delete(
    '/factors/recovery-codes',
    {
      schema: {
        operationId: 'deleteRecoveryCodes',
        tags: ['Second factors'],
        summary: 'Unenrol the own recovery codes',
        response: { 200: z.object({ id: z.guid() }), ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
    },
    async ({ caller, clientAddress }) => ({
      id: await unenrolFactor(deps, { caller, which: 'recovery-codes', ip: clientAddress.ip }),
    }),
  )
}
