import { z } from 'zod'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { MerchantView, viewMerchant } from '../../merchants/merchant.ts'
import { listMerchants } from '../../merchants/merchant-repository.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId } from '../../requests/fields.ts'

const IdentityParams = z.object({ identityId: pathId() })

/** Lists the merchants of the caller (reference: Reading merchants). */
export const identityMerchantsRoutes: Routes = async (app) => {
  app.get(
    '/identities/:identityId/merchants',
    {
      schema: {
        operationId: 'listMerchants',
        tags: ['Merchants'],
        summary: 'List the merchants that an identity belongs to',
        params: IdentityParams,
        querystring: ListQuery,
        response: { 200: z.array(MerchantView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { identityId }, query: input }) => {
      const query = valuesOrNull(input)
      const { order, ...bounds } = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listMerchants(app.deps.pools, { ...caller, identityId, test, ...bounds }, order)
      return requireAccess(caller, result, input).merchants.map(viewMerchant)
    },
  )
}
