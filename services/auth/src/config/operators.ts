import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { OperatorKey } from '@trestle/service/operators/operator-keys.ts'
import { operatorSettings as shared } from '@trestle/service/operators/operator-settings.ts'

/** Settings of operators. Auth verifies its own access tokens, so it needs no keys and no issuer of another service. */
export const operatorSettings = group('Operators', {
  OPERATOR_KEYS: shared.OPERATOR_KEYS,
  OPERATOR_REQUIRE_MFA: shared.OPERATOR_REQUIRE_MFA,
})

/** Who may call as an operator. Without keys, nobody. */
export interface OperatorsConfig {
  readonly keys: readonly OperatorKey[]
  /** Whether the sign-in must have shown a second factor. */
  readonly mfaRequired: boolean
}

/** Returns who may call as an operator. */
export function toOperatorsConfig(values: SettingValues<typeof operatorSettings>): OperatorsConfig {
  return { keys: values.OPERATOR_KEYS, mfaRequired: values.OPERATOR_REQUIRE_MFA }
}
