import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { listCurrencies } from '../../money/currencies.ts'
import type { Routes } from '../../plugins/read-request.ts'

const CurrencyView = z.object({
  code: z.string().describe('The code of the currency (ISO 4217)'),
  exponent: z.int().min(0).max(3).describe('The decimals of its minor unit'),
})

/**
 * Lists the currencies with their decimals, so that a console can format amounts (console reference: Currencies of operators).
 */
export const operatorCurrenciesRoutes: Routes = async (app) => {
  app.get(
    '/operator/currencies',
    {
      config: { action: 'settings.read' },
      schema: {
        operationId: 'listCurrenciesAsOperator',
        tags: ['Operators'],
        summary: 'List all currencies with the decimals of their minor units',
        response: { 200: z.object({ currencies: z.array(CurrencyView) }), ...operatorAnswers() },
      },
    },
    async () => ({ currencies: [...listCurrencies()] }),
  )
}
