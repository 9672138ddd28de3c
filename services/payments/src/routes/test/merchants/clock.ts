import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { CLOCK_SECONDS_MAX } from '../../../merchants/merchant-repository.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { advanceClock } from '../../../use-cases/advance-clock.ts'

/** Advances the clock of a test merchant (reference: Test clock). */
export const testClockRoutes: Routes = async (app) => {
  app.post(
    '/test/merchants/:merchantId/clock',
    {
      schema: {
        operationId: 'advanceTestClock',
        tags: ['Test mode'],
        summary: 'Advance the clock (test merchants)',
        params: z.object({ merchantId: pathId() }),
        body: z.object({ advance: z.int().min(0).meta({ maximum: CLOCK_SECONDS_MAX }) }),
        response: {
          201: z.object({ clock: z.object({ now: z.iso.datetime() }) }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { merchantId }, body }, reply) => {
      const { now, replayed } = await advanceClock(app.deps, { caller, merchantId, input: body })
      answerCreated(reply, { replayed })
      return { clock: { now: now.toISOString() } }
    },
  )
}
