import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { OperatorKey } from '@trestle/operators/operator.ts'
import { operatorSettings as shared } from '@trestle/operators/operator-settings.ts'
import { externalSettings } from './external.ts'
import { mfaSettings, webauthnSettings } from './factors.ts'
import { hookSettings } from './hooks.ts'
import { jwtSettings } from './jwt.ts'
import { mailSettings } from './mail.ts'
import { databaseSettings, serverSettings, settingsWithoutEffect } from './process.ts'
import { profileSettings } from './profile.ts'
import { securitySettings } from './security.ts'
import { passwordSettings, sessionSettings, signupSettings } from './sign-in.ts'
import { smsSettings } from './sms.ts'

/** Settings of operators. Auth issues their access tokens itself, so it needs no keys or issuer of another service. */
const operatorSettings = group('Operators', {
  OPERATOR_KEYS: shared.OPERATOR_KEYS,
  OPERATOR_REQUIRE_MFA: shared.OPERATOR_REQUIRE_MFA,
  OPERATOR_SIGN_IN_AS: flag()
    .prefault('false')
    .describe('Operators with the role admin may make links that sign in as a user. Never as an operator.'),
})

/** The keys for calls by operators. Without keys, operators cannot call. */
export interface OperatorsConfig {
  readonly keys: readonly OperatorKey[]
  /** Whether operators must have signed in with a second factor. */
  readonly mfaRequired: boolean
  /** Whether operators may sign in as a user. */
  readonly mayHaveSignInLinks: boolean
}

export function toOperatorsConfig(values: SettingValues<typeof operatorSettings>): OperatorsConfig {
  return {
    keys: values.OPERATOR_KEYS,
    mfaRequired: values.OPERATOR_REQUIRE_MFA,
    mayHaveSignInLinks: values.OPERATOR_SIGN_IN_AS,
  }
}

/** All settings of the service, by name without `AUTH_`. */
export const settings = {
  ...profileSettings,
  ...serverSettings,
  ...databaseSettings,
  ...jwtSettings,
  ...signupSettings,
  ...passwordSettings,
  ...sessionSettings,
  ...securitySettings,
  ...mfaSettings,
  ...webauthnSettings,
  ...operatorSettings,
  ...hookSettings,
  ...mailSettings,
  ...smsSettings,
  ...externalSettings,
  ...settingsWithoutEffect,
}
