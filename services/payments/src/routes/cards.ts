import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { requireAccess } from '../access/require-access.ts'
import { pathId } from '../bodies/fields.ts'
import { CardView, viewCard } from '../cards/card.ts'
import { readCard } from '../cards/card-repository.ts'
import { errorAnswers } from '../error-body.ts'
import { notFound } from '../errors.ts'

/** One kept card (reference: Kept cards). */
export const cardsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/cards/:cardId',
    {
      schema: {
        summary: 'Fetch a kept card',
        deprecated: true,
        params: z.object({ cardId: pathId() }),
        response: { 200: z.object({ card: CardView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, flaw, params: { cardId } }) => {
      const { card } = requireAccess(caller, await readCard(app.deps.lanes, { ...caller, id: cardId }), flaw)
      if (!card) throw notFound()
      return { card: viewCard(card) }
    },
  )
}
