import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, oneOf, parsed, text, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { type OperatorConfig, operatorSettings as shared, toOperators } from '@trestle/operators/operator-settings.ts'
import { databaseSettings, databaseUrl } from '@trestle/service/database-settings.ts'
import { type Amounts, parseAmounts, type RefundLimits } from '../operators/refund-limits.ts'

const DAYS_MAX = 36_500

export const registrationSettings = group('Apps', {
  REGISTRATION: oneOf('open', 'invited', 'closed')
    .prefault('open')
    .describe(
      'Who may make apps: anybody (`open`), whoever has a code of `payments apps invite` (`invited`), or the operator only (`closed`).',
    ),
  UNUSED_APP_DAYS: integer(0, DAYS_MAX, 'days')
    .prefault('0')
    .describe('Time after which an app is deleted that manages no merchant and was not used. 0: never.'),
})

export interface RegistrationConfig {
  /** Who may register an app: anybody (`open`), anybody with a code (`invited`), or only the operator (`closed`). */
  readonly registration: 'closed' | 'invited' | 'open'
  /** The days after which an unused app without merchants is deleted. 0 means never. */
  readonly unusedAppDays: number
}

export function toRegistrationConfig({
  REGISTRATION,
  UNUSED_APP_DAYS,
}: SettingValues<typeof registrationSettings>): RegistrationConfig {
  return {
    registration: REGISTRATION,
    unusedAppDays: UNUSED_APP_DAYS,
  } as const
}

/**
 * Settings of the sign-in service whose access tokens users send to payments (reference: Tokens of users;
 * docs/settings/payments.md).
 */
export const signInSettings = group('Signed-in users', {
  USER_JWKS_URL: url()
    .optional()
    .describe(
      'Keys of the service whose access tokens users may call with, such as `/.well-known/jwks.json` of auth. Without it, users cannot call.',
    ),
  USER_ISSUER: text()
    .optional()
    .describe(
      'Issuer of those access tokens, which must name verified email addresses only. Required with `PAYMENTS_USER_JWKS_URL`.',
    ),
  USER_AUDIENCE: text()
    .optional()
    .describe('The `aud` that those access tokens must name. Default: tokens for any audience are taken.'),
})

type SignInValues = SettingValues<typeof signInSettings>

export const signInRules: readonly Rule<SignInValues>[] = [
  ({ USER_JWKS_URL, USER_ISSUER }) =>
    (USER_JWKS_URL === undefined) === (USER_ISSUER === undefined)
      ? undefined
      : 'PAYMENTS_USER_JWKS_URL and PAYMENTS_USER_ISSUER are set together',
  ({ USER_JWKS_URL, USER_AUDIENCE }) =>
    USER_AUDIENCE !== undefined && USER_JWKS_URL === undefined
      ? 'PAYMENTS_USER_JWKS_URL is required when PAYMENTS_USER_AUDIENCE is set'
      : undefined,
]

export interface SignInConfig {
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string | undefined
}

/** Returns the service that signs the access tokens of users. Returns `undefined` if users cannot call the API. */
export function toSignInConfig({
  USER_JWKS_URL: jwksUrl,
  USER_ISSUER: issuer,
  USER_AUDIENCE: audience,
}: SignInValues): SignInConfig | undefined {
  return jwksUrl === undefined || issuer === undefined ? undefined : { jwksUrl, issuer, audience }
}

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
  /** `undefined` if there is no operator API. */
  readonly operators: OperatorConfig | undefined
  readonly refundLimits: RefundLimits
}

export function toOperatorsConfig(values: OperatorValues): OperatorsConfig {
  return {
    operators: toOperators(values),
    refundLimits: { once: values.OPERATOR_REFUND_LIMIT, daily: values.OPERATOR_REFUND_LIMIT_DAILY },
  }
}
