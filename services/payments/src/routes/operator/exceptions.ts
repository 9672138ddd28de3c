import { z } from 'zod'
import { refuseMissing } from '../../access/require-access.ts'
import { findExceptionForOperator, listExceptionsForOperator } from '../../acquirers/exception-repository.ts'
import { ExceptionView, viewException } from '../../acquirers/exception-view.ts'
import { operatorAnswers } from '../../error-body.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, pathId } from '../../requests/fields.ts'

const ExceptionsQuery = operatorListQuery('exceptions').extend({
  open: z.boolean().default(true).describe('Those that wait, not those that were resolved'),
  merchant: id().optional().describe('Only exceptions of this merchant'),
})

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
      const found = await listExceptionsForOperator(app.deps.operatorPools, {
        ...readOperatorPage('exceptions', at),
        merchantId,
        open,
      })
      const rows = found.map((exception) => ({ id: exception.place, exception }))
      const shown = showOperatorPage(reply, 'exceptions', { limit: at.limit, rows })
      return { exceptions: shown.map(({ exception }) => viewException(exception)) }
    },
  )

  app.get(
    '/operator/exceptions/:merchantId/:exceptionId',
    {
      config: { action: 'exceptions.read' },
      schema: {
        operationId: 'getException',
        tags: ['Operators'],
        summary: 'Fetch an answer of an acquirer that contradicts the books',
        params: z.object({ merchantId: pathId(), exceptionId: pathId() }),
        response: { 200: z.object({ exception: ExceptionView }), ...operatorAnswers() },
      },
    },
    async ({ params: { merchantId, exceptionId: id } }) => {
      const found = await findExceptionForOperator(app.deps.operatorPools, { merchantId, id })
      return { exception: viewException(found ?? refuseMissing()) }
    },
  )
}
