import { z } from 'zod'
import { operationForbidden, operatorAnswers } from '../../../error-body.ts'
import { CLOCK_SECONDS_MAX } from '../../../merchants/merchant-repository.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { advanceClockForOperator } from '../../../use-cases/operator/advance-clock.ts'

export const operatorClockRoutes: Routes = async (app) => {
  app.post(
    '/operator/merchants/:merchantId/clock',
    {
      config: { action: 'merchants.advance-clock' },
      schema: {
        operationId: 'moveTestClockAsOperator',
        tags: ['Operators'],
        summary: "Move any test merchant's clock forward",
        params: z.object({ merchantId: pathId() }),
        body: z.object({ advance: z.int().min(0).meta({ maximum: CLOCK_SECONDS_MAX }) }),
        response: {
          201: z.object({ clock: z.object({ now: z.iso.datetime() }) }),
          ...operatorAnswers(400, 403, 409, 413, 415),
          ...operationForbidden,
        },
      },
    },
    async (request, reply) => {
      const { merchantId } = request.params
      const { advance } = requireValues(request.body)
      const input = { change: readOperatorChange(request), merchantId, advance }
      return sendOperatorAnswer(reply, await advanceClockForOperator(app.deps, input))
    },
  )
}
