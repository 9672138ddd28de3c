import { addOperatorOperationRoute, CaptureBody } from '../../../plugins/operation-routes.ts'
import type { Routes } from '../../../plugins/read-request.ts'

export const operatorCapturesRoutes: Routes = async (app) => {
  addOperatorOperationRoute(app, '/operator/transactions/:transactionId/captures', {
    kind: 'capture',
    body: CaptureBody,
  })
}
