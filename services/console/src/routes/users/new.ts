import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { GivenFields } from '../../pages/asked-change.ts'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'
import { newUserChanges } from '../../users/user-list.ts'

const named = { name: 'new', shown: undefined }

/** Asks who a new user is, and makes the user. */
export const newUserRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/users/new', { schema: { querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, newUserChanges, named),
  )
  app.post('/users/new', { schema: { body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, newUserChanges, named),
  )
}
