import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { GivenFields } from '../../pages/asked-change.ts'
import { allPayoutsChanges } from '../../payouts/payout-changes.ts'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'

const named = { name: 'export', shown: undefined }

/** Asks before files for the bank are made, and makes them. */
export const payoutExportRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/payouts/export', { schema: { querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, allPayoutsChanges, named),
  )
  app.post('/payouts/export', { schema: { body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, allPayoutsChanges, named),
  )
}
