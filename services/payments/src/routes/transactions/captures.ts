import { addOperationRoute, CaptureBody } from '../../plugins/operation-routes.ts'
import type { Routes } from '../../plugins/read-request.ts'

export const capturesRoutes: Routes = async (app) => {
  addOperationRoute(app, '/transactions/:transactionId/captures', { kind: 'capture', body: CaptureBody })
}
