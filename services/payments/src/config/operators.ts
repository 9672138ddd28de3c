import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { parsed } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { type OperatorConfig, operatorSettings as shared, toOperators } from '@trestle/operators/operator-settings.ts'
import { databaseSettings, databaseUrl } from '@trestle/service/database-settings.ts'
import { type Amounts, parseAmounts, type RefundLimits } from '../operators/refund-limits.ts'

export const operatorSettings = group('Operators', {
  ...shared,
  OPERATOR_DATABASE_URL: databaseUrl()
    .optional()
    .describe(
      'Connection to the coordinator that changes of operators use. Default: that of `PAYMENTS_MIGRATION_DATABASE_URL`. On a Citus cluster, `payments distribute` gives its password to `PAYMENTS_OPERATOR_DB_ROLE` on every server, which logs in with it between the servers.',
    ),
  OPERATOR_DB_ROLE: databaseSettings.DB_ROLE.describe(
    'Role that changes of operators work as. `migrate` makes it where `PAYMENTS_DB_ROLE` is set, with the rights of that role and those of operators. It may only read rows of merchants, and changes them by functions.',
  ),
  OPERATOR_REFUND_LIMIT: amounts().describe(
    'Most that an operator with the role support refunds at once, by currency, in minor units: `EUR:10000,DKK:75000`. They refund in no other currency.',
  ),
  OPERATOR_REFUND_LIMIT_DAILY: amounts().describe(
    'Most that an operator with the role support refunds in a UTC day, by currency, in minor units.',
  ),
})

function amounts() {
  const problem = 'must be CUR:amount,… with known currencies, each once, and amounts in minor units'
  return parsed<Amounts>({ form: 'list of `CUR:amount`', problem }, parseAmounts).default(new Map())
}

type OperatorValues = SettingValues<typeof operatorSettings>

export interface OperatorsConfig {
  /** Undefined: there is no operator API. */
  readonly operators: OperatorConfig | undefined
  readonly refundLimits: RefundLimits
}

export function toOperatorsConfig(values: OperatorValues): OperatorsConfig {
  return {
    operators: toOperators(values),
    refundLimits: { once: values.OPERATOR_REFUND_LIMIT, daily: values.OPERATOR_REFUND_LIMIT_DAILY },
  }
}
