import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { AttemptView, viewAttempt } from '../../transactions/attempt-view.ts'
import { listUnknownAttempts } from '../../transactions/operator-attempt-repository.ts'

export const operatorAttemptsRoutes: Routes = async (app) => {
  app.get(
    '/operator/attempts',
    {
      config: { action: 'exceptions.read' },
      schema: {
        operationId: 'listUnknownAttempts',
        tags: ['Operators'],
        summary: 'List authorizations without a known outcome',
        querystring: operatorListQuery('attempts'),
        response: { 200: z.object({ attempts: z.array(AttemptView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const at = requireValues(query)
      const rows = await listUnknownAttempts(app.deps.operatorPools, readOperatorPage('attempts', at))
      return { attempts: showOperatorPage(reply, 'attempts', { limit: at.limit, rows }).map(viewAttempt) }
    },
  )
}
