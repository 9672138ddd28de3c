import { addOperatorOperationRoute, VoidBody } from '../../../plugins/operation-routes.ts'
import type { Routes } from '../../../plugins/read-request.ts'

export const operatorVoidsRoutes: Routes = async (app) => {
  addOperatorOperationRoute(app, '/operator/transactions/:transactionId/voids', { kind: 'void', body: VoidBody })
}
