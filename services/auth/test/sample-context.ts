import type { RequestContext } from '../src/requests/request-context.ts'
import type { Admin } from '../src/sessions/admin.ts'
import { leaveToOperators } from '../src/users/user.ts'

/** The context of a request without headers, for a use case. */
export const CONTEXT: RequestContext = {
  audience: 'authenticated',
  ip: '192.0.2.1',
  limitKey: undefined,
  network: undefined,
  userAgent: 'test',
  redirectTo: 'http://localhost:3000',
  linkBase: 'http://localhost:8081',
}

/** The admin that the token of a service speaks for. */
export const SERVICE: Admin = {
  userId: null,
  sessionId: null,
  requireMayManage: leaveToOperators,
  limitKey: undefined,
  actor: { id: null, email: 'service_role', phone: null, userMetadata: {}, isSsoUser: false },
}
