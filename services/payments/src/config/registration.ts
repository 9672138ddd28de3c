import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, oneOf } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'

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
  /** The people who may make an app: anybody, anybody with a code of the operator, or only the operator. */
  readonly registration: 'closed' | 'invited' | 'open'
  /** The days after which an app without merchants is deleted when nobody uses it; 0: never. */
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
