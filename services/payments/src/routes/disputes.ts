import { z } from 'zod'
import { requireAccess, requireObject } from '../access/require-access.ts'
import { DisputeView, viewDispute } from '../disputes/dispute.ts'
import { listDisputes, readDispute } from '../disputes/dispute-repository.ts'
import { FilteredListQuery, filteredPage } from '../disputes/filtered-list.ts'
import { errorAnswers } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'

/** Lists and reads disputes (reference: Disputes and fraud alerts). */
export const disputesRoutes: Routes = async (app) => {
  app.get(
    '/disputes',
    {
      schema: {
        operationId: 'listDisputes',
        tags: ['Disputes'],
        summary: 'List the disputes of a merchant',
        querystring: FilteredListQuery,
        response: { 200: z.array(DisputeView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, query: input }) => {
      const result = await listDisputes(app.deps.pools, { ...caller, ...filteredPage(input) })
      return requireAccess(caller, result, input).disputes.map(viewDispute)
    },
  )
  app.get(
    '/disputes/:disputeId',
    {
      schema: {
        operationId: 'getDispute',
        tags: ['Disputes'],
        summary: 'Get a dispute',
        params: z.object({ disputeId: pathId() }),
        response: { 200: z.object({ dispute: DisputeView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { disputeId } }) => {
      const result = await readDispute(app.deps.pools, { ...caller, id: disputeId })
      const dispute = requireObject(caller, result, { input, name: 'dispute' })
      return { dispute: viewDispute(dispute) }
    },
  )
}
