import { addOperatorOperationRoute, RefundBody } from '../../../plugins/operation-routes.ts'
import type { Routes } from '../../../plugins/read-request.ts'

export const operatorRefundsRoutes: Routes = async (app) => {
  addOperatorOperationRoute(app, '/operator/transactions/:transactionId/refunds', { kind: 'refund', body: RefundBody })
}
