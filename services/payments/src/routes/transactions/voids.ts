import { addOperationRoute, VoidBody } from '../../plugins/operation-routes.ts'
import type { Routes } from '../../plugins/read-request.ts'

export const voidsRoutes: Routes = async (app) => {
  addOperationRoute(app, '/transactions/:transactionId/voids', { kind: 'void', body: VoidBody })
}
