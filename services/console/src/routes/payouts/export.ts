import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { allPayoutsChanges } from '../../payouts/payout-changes.ts'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'

export const payoutExportRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/payouts/export', {
    params: z.object({}),
    changeable: allPayoutsChanges,
    read: () => undefined,
  })
}
