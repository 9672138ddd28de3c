import { z } from 'zod'
import { ExceptionView } from '../../../acquirers/exception-view.ts'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId, text } from '../../../requests/fields.ts'
import { resolveException } from '../../../use-cases/resolve-exception.ts'

export const operatorResolutionRoutes: Routes = async (app) => {
  app.post(
    '/operator/exceptions/:merchantId/:exceptionId/resolution',
    {
      config: { action: 'exceptions.resolve' },
      schema: {
        operationId: 'resolveException',
        tags: ['Operators'],
        summary: 'Mark an exception as dealt with',
        params: z.object({ merchantId: pathId(), exceptionId: pathId() }),
        body: z.object({
          note: text().trim().min(1).max(1_000).optional().describe('What was done, for the audit log'),
        }),
        bodyRequired: false,
        response: { 201: z.object({ exception: ExceptionView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { note } = requireValues(request.body)
      const { merchantId, exceptionId: id } = request.params
      const input = { change: readOperatorChange(request), merchantId, id, note }
      return sendOperatorAnswer(reply, await resolveException(app.deps, input))
    },
  )
}
