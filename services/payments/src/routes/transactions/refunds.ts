import { addOperationRoute, RefundBody } from '../../plugins/operation-routes.ts'
import type { Routes } from '../../plugins/read-request.ts'

export const refundsRoutes: Routes = async (app) => {
  addOperationRoute(app, '/transactions/:transactionId/refunds', { kind: 'refund', body: RefundBody })
}
