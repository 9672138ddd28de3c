import { z } from 'zod'
import { isRegistrationClosed } from '../../apps/app-repository.ts'
import { operatorAnswers } from '../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { changeRegistration } from '../../use-cases/change-registration.ts'

const RegistrationView = z.object({
  registration: z.object({
    mode: z.enum(['open', 'invited', 'closed']).describe('Who may make apps by the settings'),
    isClosed: z.boolean().describe('Whether an operator has closed what the settings open'),
  }),
})

export const operatorRegistrationRoutes: Routes = async (app) => {
  app.get(
    '/operator/registration',
    {
      config: { action: 'settings.read' },
      schema: {
        operationId: 'getRegistration',
        tags: ['Operators'],
        summary: 'Get who may make apps',
        response: { 200: RegistrationView, ...operatorAnswers() },
      },
    },
    async () => {
      const isClosed = await isRegistrationClosed(app.deps.operatorPools)
      return { registration: { mode: app.deps.config.registration, isClosed } }
    },
  )

  app.put(
    '/operator/registration',
    {
      config: { action: 'registration.change' },
      schema: {
        operationId: 'changeRegistration',
        tags: ['Operators'],
        summary: 'Close the registration of apps, or open what the settings open',
        body: z.object({ isClosed: z.boolean() }),
        response: { 200: RegistrationView, ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { isClosed } = requireValues(request.body)
      const input = { change: readOperatorChange(request), isClosed }
      return sendOperatorAnswer(reply, await changeRegistration(app.deps, input))
    },
  )
}
