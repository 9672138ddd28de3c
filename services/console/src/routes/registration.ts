import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { registrationChanges } from '../jobs/job-changes.ts'
import { REGISTRATION_CALL, type Registration, RegistrationView } from '../jobs/job-view.ts'
import { GivenFields } from '../pages/asked-change.ts'
import { answerChange, askChange } from '../plugins/asked-changes.ts'
import { visitOf } from '../plugins/operator.ts'

const ChangeParams = z.object({ change: z.string().max(32) })

/** The questions before the registration of apps is closed or opened. */
export const registrationRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/registration/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readRegistration(request) }
      return askChange(request, reply, registrationChanges, named)
    },
  )

  app.post('/registration/:change', { schema: { params: ChangeParams, body: GivenFields } }, async (request, reply) => {
    const named = { name: request.params.change, shown: await readRegistration(request) }
    return answerChange(request, reply, registrationChanges, named)
  })
}

async function readRegistration(request: FastifyRequest): Promise<Registration> {
  return (await visitOf(request).calls.read('payments', REGISTRATION_CALL, RegistrationView)).value.registration
}
