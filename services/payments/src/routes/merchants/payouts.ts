import { z } from 'zod'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import { PayoutView, viewPayout } from '../../payouts/payout.ts'
import { listPayouts } from '../../payouts/payout-repository.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId } from '../../requests/fields.ts'

/** Lists the payouts of a merchant (reference: Reading payouts). */
export const merchantPayoutsRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/payouts',
    {
      schema: {
        operationId: 'listPayouts',
        tags: ['Payouts'],
        summary: 'List the payouts of a merchant',
        params: z.object({ merchantId: pathId() }),
        querystring: ListQuery,
        response: { 200: z.array(PayoutView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }) => {
      const query = valuesOrNull(input)
      const bounds = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listPayouts(app.deps.pools, { ...caller, merchantId, test, ...bounds })
      return requireAccess(caller, result, input).payouts.map(viewPayout)
    },
  )
}
