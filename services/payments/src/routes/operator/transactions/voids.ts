import { addOperatorOperationRoute } from '../../../plugins/operation-routes.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { VoidBody } from '../../../transactions/operation-body.ts'

/** Voids by operators. */
export const operatorVoidsRoutes: Routes = async (app) => {
  addOperatorOperationRoute(app, '/operator/transactions/:transactionId/voids', { kind: 'void', body: VoidBody })
}
