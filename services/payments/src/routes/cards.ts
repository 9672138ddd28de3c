import { z } from 'zod'
import { requireObject } from '../access/require-access.ts'
import { CardView, viewCard } from '../cards/card.ts'
import { readCard } from '../cards/card-repository.ts'
import { errorAnswers } from '../error-body.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'

/** Reads one saved card (reference: Saved cards). */
export const cardsRoutes: Routes = async (app) => {
  app.get(
    '/cards/:cardId',
    {
      schema: {
        operationId: 'getCard',
        tags: ['Cards'],
        summary: 'Get a saved card',
        deprecated: true,
        params: z.object({ cardId: pathId() }),
        response: { 200: z.object({ card: CardView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { cardId } }) => {
      const result = await readCard(app.deps.pools, { ...caller, id: cardId })
      const card = requireObject(caller, result, { input, name: 'card' })
      return { card: viewCard(card) }
    },
  )
}
