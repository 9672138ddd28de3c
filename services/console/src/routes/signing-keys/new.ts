import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { newKeyChanges } from '../../auth-settings/signing-keys.ts'
import { GivenFields } from '../../pages/asked-change.ts'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'

const named = { name: 'new', shown: undefined }

/** Asks what a new signing key is like, and adds it. */
export const newKeyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/signing-keys/new', { schema: { querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, newKeyChanges, named),
  )
  app.post('/signing-keys/new', { schema: { body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, newKeyChanges, named),
  )
}
