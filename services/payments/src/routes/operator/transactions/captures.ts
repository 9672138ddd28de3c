import { addOperatorOperationRoute } from '../../../plugins/operation-routes.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { CaptureBody } from '../../../transactions/operation-body.ts'

/** Captures by operators. */
export const operatorCapturesRoutes: Routes = async (app) => {
  addOperatorOperationRoute(app, '/operator/transactions/:transactionId/captures', {
    kind: 'capture',
    body: CaptureBody,
  })
}
