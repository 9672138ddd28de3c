import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { FIELD_TEXTS } from '../../../field-errors.ts'
import { MerchantView } from '../../../merchants/merchant.ts'
import { FLAT_FEES } from '../../../merchants/pricing.ts'
import { AMOUNT_MAX } from '../../../money/minor-units.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { currency, pathId } from '../../../requests/fields.ts'
import { priceMerchant } from '../../../use-cases/price-merchant.ts'

const fee = () => z.object({ currency: currency(), amount: z.int().min(0).max(Number(AMOUNT_MAX)) }).optional()

const PricingBody = z
  .object({
    rate: z.int().min(0).max(10_000).optional().describe('Share of each capture, in basis points'),
    ...Object.fromEntries(Object.entries(FLAT_FEES).map(([name, act]) => [name, fee().describe(`For ${act}`)])),
  })
  .refine((fees) => Object.values(fees).some((given) => given !== undefined), {
    error: FIELD_TEXTS.required,
    params: { code: 'REQUIRED' },
  })
  .meta({ minProperties: 1 })

export const operatorPricingRoutes: Routes = async (app) => {
  app.put(
    '/operator/merchants/:merchantId/pricing',
    {
      config: { action: 'merchants.price' },
      schema: {
        operationId: 'priceMerchant',
        tags: ['Operators'],
        summary: 'Change the fees of later captures, refunds and lost disputes',
        params: z.object({ merchantId: pathId() }),
        body: PricingBody,
        response: { 200: z.object({ merchant: MerchantView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const fees = Object.entries(requireValues(request.body)).filter(([, given]) => given !== undefined)
      const { merchantId } = request.params
      const input = { change: readOperatorChange(request), merchantId, pricing: Object.fromEntries(fees) }
      return sendOperatorAnswer(reply, await priceMerchant(app.deps, input))
    },
  )
}
