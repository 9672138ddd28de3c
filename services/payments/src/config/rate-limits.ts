import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer } from '@trestle/common/config/setting.ts'

const EVENTS_MAX = 1_000_000

/** How often something may happen; 0 lifts a limit. @see contract 21 */
export const rateLimitSettings = {
  RATE_KEY: integer(0, EVENTS_MAX).default(500),
  RATE_APPS: integer(0, EVENTS_MAX).default(600),
  RATE_FAILURES: integer(0, EVENTS_MAX).default(300),
  RATE_ADDRESS: integer(0, EVENTS_MAX).default(100),
  RATE_REFUSALS: integer(0, EVENTS_MAX).default(30),
  RATE_MAILS: integer(0, EVENTS_MAX).default(10),
  RATE_INVITATIONS: integer(0, EVENTS_MAX).default(60),
} as const

export function toRateLimitConfig(values: SettingValues<typeof rateLimitSettings>) {
  return {
    rateLimits: {
      requestsPerSecond: values.RATE_KEY,
      appsPerMinute: values.RATE_APPS,
      failuresPerMinute: values.RATE_FAILURES,
      checkoutsPerSecond: values.RATE_ADDRESS,
      refusalsPerTenMinutes: values.RATE_REFUSALS,
      mailsPerHour: values.RATE_MAILS,
      invitationsPerHour: values.RATE_INVITATIONS,
    },
  } as const
}
