import { z } from 'zod'
import { chargeRefusal, errorAnswers } from '../../error-body.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { id, pathId, text } from '../../requests/fields.ts'
import { saveCard } from '../../use-cases/save-card.ts'

const CardBody = z.object({ transactionId: id(), notes: text().max(1_000).optional() })

/** Saves cards. Deprecated: charge from a previous transaction instead (reference: Saved cards). */
export const merchantCardsRoutes: Routes = async (app) => {
  app.post(
    '/merchants/:merchantId/cards',
    {
      schema: {
        operationId: 'keepCard',
        tags: ['Cards'],
        summary: 'Keep the card of a transaction',
        deprecated: true,
        params: z.object({ merchantId: pathId() }),
        body: CardBody,
        response: {
          201: z.object({ card: z.object({ id: z.string() }) }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
          ...chargeRefusal,
        },
      },
    },
    async ({ caller, params: { merchantId }, body: input }, reply) => {
      const { cardId, replayed } = await saveCard(app.deps, { caller, merchantId, input })
      answerCreated(reply, { replayed })
      return { card: { id: cardId } }
    },
  )
}
