import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, oneOf } from '@trestle/common/config/setting.ts'

const DAYS_MAX = 36_500

/** Settings of who may make apps, and of what becomes of those that nobody uses. */
export const registrationSettings = {
  REGISTRATION: oneOf('open', 'invited', 'closed').default('open'),
  UNUSED_APP_DAYS: integer(0, DAYS_MAX).default(0),
} as const

export function toRegistrationConfig({ REGISTRATION, UNUSED_APP_DAYS }: SettingValues<typeof registrationSettings>) {
  return {
    /** Whether anybody may make an app, whoever has a code of the operator, or the operator alone. */
    registration: REGISTRATION,
    /** Days after which an app goes that looks after no merchant and was not used; 0: it stays. */
    unusedAppDays: UNUSED_APP_DAYS,
  } as const
}
