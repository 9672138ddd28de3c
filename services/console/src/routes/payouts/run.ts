import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { GivenFields } from '../../pages/asked-change.ts'
import { allPayoutsChanges } from '../../payouts/payout-changes.ts'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'

const named = { name: 'run', shown: undefined }

/** Asks before merchants are paid out, and pays them out. */
export const payoutRunRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/payouts/run', { schema: { querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, allPayoutsChanges, named),
  )
  app.post('/payouts/run', { schema: { body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, allPayoutsChanges, named),
  )
}
