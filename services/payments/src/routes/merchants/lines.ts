import { z } from 'zod'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { LineView, viewLine } from '../../ledger/line.ts'
import { listLines } from '../../ledger/line-repository.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId } from '../../requests/fields.ts'

/** Lists the lines of a merchant (reference: Reading transactions and lines). */
export const merchantLinesRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/lines',
    {
      schema: {
        operationId: 'listLines',
        tags: ['Lines'],
        summary: 'List the lines of a merchant',
        params: z.object({ merchantId: pathId() }),
        querystring: ListQuery,
        response: { 200: z.array(LineView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }) => {
      const query = valuesOrNull(input)
      const bounds = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listLines(app.deps.pools, { ...caller, merchantId, test, ...bounds })
      return requireAccess(caller, result, input).lines.map(viewLine)
    },
  )
}
