import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { ROWS_OF_LONG_READ } from '../../plugins/concurrency-limits.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { text } from '../../requests/fields.ts'
import { searchEverything } from '../../use-cases/search-everything.ts'

const HitView = z.object({
  kind: z.enum(['merchant', 'transaction', 'dispute', 'payout', 'app']),
  id: z.string(),
  merchantId: z.string().optional(),
  title: z.string().describe('A line for people'),
})

export const operatorSearchRoutes: Routes = async (app) => {
  app.get(
    '/operator/search',
    {
      config: { action: 'merchants.read', rowsCounted: ROWS_OF_LONG_READ },
      schema: {
        operationId: 'searchAsOperator',
        tags: ['Operators'],
        summary: 'Search merchants, transactions, disputes, payouts and apps',
        querystring: z.object({
          q: text()
            .trim()
            .min(1)
            .max(255)
            .describe(
              'An id, a name, an email address, a website, the last four digits of a card, an amount as `12.50`, or a reference',
            ),
        }),
        response: { 200: z.object({ hits: z.array(HitView).max(20) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }) => ({ hits: [...(await searchEverything(app.deps, requireValues(query).q))] }),
  )
}
