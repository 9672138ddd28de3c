import { createUuidV7 } from './auth/0000-create-uuid-v7.ts'
import { createUsers } from './auth/0001-create-users.ts'
import { createIdentities } from './auth/0002-create-identities.ts'
import { createOneTimeTokens } from './auth/0003-create-one-time-tokens.ts'
import { createAuditLog } from './auth/0004-create-audit-log.ts'
import { createSendThrottle } from './auth/0005-create-send-throttle.ts'
import { createFlowState } from './auth/0006-create-flow-state.ts'
import { createRateLimits } from './auth/0007-create-rate-limits.ts'
import type { MigrationSources } from './migration.ts'

/** The migrations of the auth service, in the order in which they run. */
export const authMigrations: MigrationSources = {
  '0000-create-uuid-v7': createUuidV7,
  '0001-create-users': createUsers,
  '0002-create-identities': createIdentities,
  '0003-create-one-time-tokens': createOneTimeTokens,
  '0004-create-audit-log': createAuditLog,
  '0005-create-send-throttle': createSendThrottle,
  '0006-create-flow-state': createFlowState,
  '0007-create-rate-limits': createRateLimits,
}
