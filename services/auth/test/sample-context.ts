import type { RequestContext } from '../src/requests/request-context.ts'
import type { Admin } from '../src/sessions/admin.ts'
import { leaveToOperators } from '../src/users/user.ts'

/** The request context of a use case, without headers. */
export const CONTEXT: RequestContext = {
  audience: 'authenticated',
  ip: '192.0.2.1',
  limitKey: undefined,
  network: undefined,
  userAgent: 'test',
  redirectTo: 'http://localhost:3000',
  linkBase: 'http://localhost:8081',
}

/** The admin of a service token. */
export const SERVICE: Admin = {
  userId: null,
  sessionId: null,
  requireMayManage: leaveToOperators,
  limitKey: undefined,
  actor: { id: null, email: 'service_role', phone: null, userMetadata: {}, isSsoUser: false },
}
