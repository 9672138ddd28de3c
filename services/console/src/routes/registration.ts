import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { REGISTRATION_CALL, type Registration, RegistrationView, registrationChanges } from '../jobs/job-page.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { visitOf } from '../plugins/operator.ts'

export const registrationRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/registration/:change', {
    params: z.object({}),
    changeable: registrationChanges,
    read: readRegistration,
  })
}

async function readRegistration(request: FastifyRequest): Promise<Registration> {
  return (await visitOf(request).calls.read('payments', REGISTRATION_CALL, RegistrationView)).value.registration
}
