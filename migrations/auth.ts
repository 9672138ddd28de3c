import { createUuidV7 } from './auth/0000-create-uuid-v7.ts'
import { createUsers } from './auth/0001-create-users.ts'
import { createIdentities } from './auth/0002-create-identities.ts'
import { createOneTimeTokens } from './auth/0003-create-one-time-tokens.ts'
import { createAuditLog } from './auth/0004-create-audit-log.ts'
import { createSendThrottle } from './auth/0005-create-send-throttle.ts'
import { createFlowState } from './auth/0006-create-flow-state.ts'
import { createRateLimits } from './auth/0007-create-rate-limits.ts'
import { createSessions } from './auth/0010-create-sessions.ts'
import { createRefreshTokens } from './auth/0011-create-refresh-tokens.ts'
import { createAmrClaims } from './auth/0012-create-amr-claims.ts'
import { createMfaFactors } from './auth/0013-create-mfa-factors.ts'
import { createSigningKeys } from './auth/0014-create-signing-keys.ts'
import { createCreateSession } from './auth/0015-create-create-session.ts'
import { createFinishLogin } from './auth/0016-create-finish-login.ts'
import { createRefreshSession } from './auth/0017-create-refresh-session.ts'
import { createLogOut } from './auth/0018-create-log-out.ts'
import { keepPlans } from './auth/0019-keep-plans.ts'
import { createOutbox } from './auth/0020-create-outbox.ts'
import { createSignUp } from './auth/0021-create-sign-up.ts'
import { signUpByKey } from './auth/0022-sign-up-by-key.ts'
import { indexCleanUp } from './auth/0030-index-clean-up.ts'
import { createUserDirectory } from './auth/0040-create-user-directory.ts'
import { extendFlowState } from './auth/0041-extend-flow-state.ts'
import { createCustomProviders } from './auth/0042-create-custom-providers.ts'
import { createMfaChallenges } from './auth/0056-create-mfa-challenges.ts'
import { createPromoteSession } from './auth/0057-create-promote-session.ts'
import { throttleMfaSms } from './auth/0058-throttle-mfa-sms.ts'
import { createRecoveryCodes } from './auth/0059-create-recovery-codes.ts'
import { createPasskeys } from './auth/0060-create-passkeys.ts'
import { releaseEmail } from './auth/0065-release-email.ts'
import { dateOutbox } from './auth/0066-date-outbox.ts'
import { linkAtExchange } from './auth/0080-link-at-exchange.ts'
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
  '0010-create-sessions': createSessions,
  '0011-create-refresh-tokens': createRefreshTokens,
  '0012-create-amr-claims': createAmrClaims,
  '0013-create-mfa-factors': createMfaFactors,
  '0014-create-signing-keys': createSigningKeys,
  '0015-create-create-session': createCreateSession,
  '0016-create-finish-login': createFinishLogin,
  '0017-create-refresh-session': createRefreshSession,
  '0018-create-log-out': createLogOut,
  '0019-keep-plans': keepPlans,
  '0020-create-outbox': createOutbox,
  '0021-create-sign-up': createSignUp,
  '0022-sign-up-by-key': signUpByKey,
  '0030-index-clean-up': indexCleanUp,
  '0040-create-user-directory': createUserDirectory,
  '0041-extend-flow-state': extendFlowState,
  '0042-create-custom-providers': createCustomProviders,
  '0056-create-mfa-challenges': createMfaChallenges,
  '0057-create-promote-session': createPromoteSession,
  '0058-throttle-mfa-sms': throttleMfaSms,
  '0059-create-recovery-codes': createRecoveryCodes,
  '0060-create-passkeys': createPasskeys,
  '0065-release-email': releaseEmail,
  '0066-date-outbox': dateOutbox,
  '0080-link-at-exchange': linkAtExchange,
}
