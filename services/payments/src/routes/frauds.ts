import { z } from 'zod'
import { requireAccess, requireObject } from '../access/require-access.ts'
import { FilteredListQuery, filteredPage } from '../disputes/filtered-list.ts'
import { FraudView, viewFraud } from '../disputes/fraud.ts'
import { listFrauds, readFraud } from '../disputes/fraud-repository.ts'
import { errorAnswers } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'

/** Lists and reads fraud alerts (reference: Disputes and fraud alerts). */
export const fraudsRoutes: Routes = async (app) => {
  app.get(
    '/frauds',
    {
      schema: {
        operationId: 'listFraudAlerts',
        tags: ['Disputes'],
        summary: 'List the fraud alerts of a merchant',
        querystring: FilteredListQuery,
        response: { 200: z.array(FraudView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, query: input }) => {
      const result = await listFrauds(app.deps.pools, { ...caller, ...filteredPage(input) })
      return requireAccess(caller, result, input).frauds.map(viewFraud)
    },
  )
  app.get(
    '/frauds/:fraudId',
    {
      schema: {
        operationId: 'getFraudAlert',
        tags: ['Disputes'],
        summary: 'Get a fraud alert',
        params: z.object({ fraudId: pathId() }),
        response: { 200: z.object({ fraud: FraudView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { fraudId } }) => {
      const result = await readFraud(app.deps.pools, { ...caller, id: fraudId })
      const fraud = requireObject(caller, result, { input, name: 'fraud' })
      return { fraud: viewFraud(fraud) }
    },
  )
}
