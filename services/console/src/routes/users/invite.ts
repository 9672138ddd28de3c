import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { GivenFields } from '../../pages/asked-change.ts'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'
import { newUserChanges } from '../../users/user-list.ts'

const named = { name: 'invite', shown: undefined }

/** Asks whom to invite, and invites them. */
export const inviteRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/users/invite', { schema: { querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, newUserChanges, named),
  )
  app.post('/users/invite', { schema: { body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, newUserChanges, named),
  )
}
