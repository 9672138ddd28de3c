import { z } from 'zod'
import { requireObject } from '../access/require-access.ts'
import { errorAnswers } from '../error-body.ts'
import { PayoutView, viewPayout } from '../payouts/payout.ts'
import { readPayout } from '../payouts/payout-repository.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'

/** Reads a payout (reference: Reading payouts). */
export const payoutsRoutes: Routes = async (app) => {
  app.get(
    '/payouts/:payoutId',
    {
      schema: {
        operationId: 'getPayout',
        tags: ['Payouts'],
        summary: 'Get a payout',
        params: z.object({ payoutId: pathId() }),
        response: { 200: z.object({ payout: PayoutView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { payoutId } }) => {
      const result = await readPayout(app.deps.pools, { ...caller, id: payoutId })
      const payout = requireObject(caller, result, { input, name: 'payout' })
      return { payout: viewPayout(payout) }
    },
  )
}
