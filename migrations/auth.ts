import { type FunctionFiles, functionsIn } from './functions.ts'
import { inFile, type MigrationSources } from './migration.ts'

/** The migrations of the auth service, in execution order. */
export const authMigrations: MigrationSources = {
  '0001-create-uuid-v7': inFile(() => import('./auth/0001-create-uuid-v7.ts')),
  '0002-create-users': inFile(() => import('./auth/0002-create-users.ts')),
  '0003-create-user-directory': inFile(() => import('./auth/0003-create-user-directory.ts')),
  '0004-create-sign-up-contents': inFile(() => import('./auth/0004-create-sign-up-contents.ts')),
  '0005-create-address-changes': inFile(() => import('./auth/0005-create-address-changes.ts')),
  '0006-create-identities': inFile(() => import('./auth/0006-create-identities.ts')),
  '0007-create-sessions': inFile(() => import('./auth/0007-create-sessions.ts')),
  '0008-create-refresh-tokens': inFile(() => import('./auth/0008-create-refresh-tokens.ts')),
  '0009-create-amr-claims': inFile(() => import('./auth/0009-create-amr-claims.ts')),
  '0010-create-mfa-factors': inFile(() => import('./auth/0010-create-mfa-factors.ts')),
  '0011-create-mfa-challenges': inFile(() => import('./auth/0011-create-mfa-challenges.ts')),
  '0012-create-recovery-codes': inFile(() => import('./auth/0012-create-recovery-codes.ts')),
  '0013-create-passkeys': inFile(() => import('./auth/0013-create-passkeys.ts')),
  '0014-create-flow-state': inFile(() => import('./auth/0014-create-flow-state.ts')),
  '0015-create-one-time-tokens': inFile(() => import('./auth/0015-create-one-time-tokens.ts')),
  '0016-create-custom-providers': inFile(() => import('./auth/0016-create-custom-providers.ts')),
  '0017-create-signing-keys': inFile(() => import('./auth/0017-create-signing-keys.ts')),
  '0018-create-audit-log': inFile(() => import('./auth/0018-create-audit-log.ts')),
  '0019-create-send-throttle': inFile(() => import('./auth/0019-create-send-throttle.ts')),
  '0020-create-code-guesses': inFile(() => import('./auth/0020-create-code-guesses.ts')),
  '0021-create-rate-limits': inFile(() => import('./auth/0021-create-rate-limits.ts')),
  '0022-create-outbox': inFile(() => import('./auth/0022-create-outbox.ts')),
  '0023-create-operator-changes': inFile(() => import('./auth/0023-create-operator-changes.ts')),
  '0024-create-messages': inFile(() => import('./auth/0024-create-messages.ts')),
}

export const authFunctions: FunctionFiles = functionsIn(new URL('./auth/functions/', import.meta.url))
