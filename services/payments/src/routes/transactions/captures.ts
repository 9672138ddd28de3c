import { addOperationRoute, CaptureBody } from '../../plugins/operation-routes.ts'
import type { Routes } from '../../plugins/read-request.ts'

/** Captures of a transaction. */
export const capturesRoutes: Routes = async (app) => {
  addOperationRoute(app, '/transactions/:transactionId/captures', { kind: 'capture', body: CaptureBody })
}
