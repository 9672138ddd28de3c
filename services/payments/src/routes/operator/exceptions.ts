import { z } from 'zod'
import { ExceptionView, viewException } from '../../acquirers/exception-view.ts'
import { listOperatedExceptions } from '../../acquirers/operator-exception-repository.ts'
import { operatorAnswers } from '../../error-body.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id } from '../../requests/fields.ts'

const ExceptionsQuery = operatorListQuery('exceptions').extend({
  open: z.boolean().default(true).describe('Those that wait, not those that were resolved'),
  merchant: id().optional().describe('Only exceptions of this merchant'),
})

/** Lists answers of acquirers that contradict the books, for operators (console reference: Routes of payments). */
export const operatorExceptionsRoutes: Routes = async (app) => {
  app.get(
    '/operator/exceptions',
    {
      config: { action: 'exceptions.read' },
      schema: {
        operationId: 'listExceptions',
        tags: ['Operators'],
        summary: 'List answers of acquirers that contradict the books',
        querystring: ExceptionsQuery,
        response: { 200: z.object({ exceptions: z.array(ExceptionView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { merchant: merchantId, open, ...at } = requireValues(query)
      const found = await listOperatedExceptions(app.deps.operatorLanes, {
        ...readOperatorPage('exceptions', at),
        merchantId,
        open,
      })
      const rows = found.map((exception) => ({ id: exception.place, exception }))
      const shown = showOperatorPage(reply, 'exceptions', { limit: at.limit, rows })
      return { exceptions: shown.map(({ exception }) => viewException(exception)) }
    },
  )
}
