import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { limitStoreSettings } from '@trestle/rate-limits/limit-settings.ts'

const EVENTS_MAX = 1_000_000

/** The settings of rate limits. 0 switches a limit off (reference: Rate limits). */
export const rateLimitSettings = group(
  { title: 'Limits', about: '0 lifts a limit. An IPv6 network of 64 bits counts as one address.' },
  {
    ...limitStoreSettings,
    RATE_KEY: integer(0, EVENTS_MAX).prefault('500').describe('Requests of an API key in a second.'),
    RATE_APPS: integer(0, EVENTS_MAX).prefault('600').describe('New apps from an address in a minute.'),
    RATE_FAILURES: integer(0, EVENTS_MAX)
      .prefault('300')
      .describe('Requests with a wrong key from an address in a minute.'),
    RATE_ADDRESS: integer(0, EVENTS_MAX)
      .prefault('100')
      .describe('Requests of the checkout from an address in a second.'),
    RATE_REFUSALS: integer(0, EVENTS_MAX)
      .prefault('30')
      .describe('Cards from an address that live merchants may see refused in ten minutes.'),
    RATE_MAILS: integer(0, EVENTS_MAX)
      .prefault('10')
      .describe(
        'Invitations by mail to an email address in an hour, and as many mails about rejections. Further invitations wait, at most a day; further mails about rejections are not sent. Anybody can make apps, and apps invite.',
      ),
    RATE_INVITATIONS: integer(0, EVENTS_MAX)
      .prefault('60')
      .describe('Invitations that an API key or a user, and an address, may send in an hour.'),
  },
)

/** The most events for one key or address in the time that the field name states. 0 switches a limit off. */
export interface RateLimitConfig {
  readonly requestsPerSecond: number
  readonly appsPerMinute: number
  readonly failuresPerMinute: number
  readonly checkoutsPerSecond: number
  readonly refusalsPerTenMinutes: number
  readonly mailsPerHour: number
  readonly invitationsPerHour: number
}

export interface LimiterConfig {
  readonly rateLimitStore: 'memory' | 'postgres' | 'redis'
  readonly redisUrl: string | undefined
  readonly rateLimits: RateLimitConfig
}

export function toLimiterConfig(values: SettingValues<typeof rateLimitSettings>): LimiterConfig {
  return {
    rateLimitStore: values.RATE_LIMIT_STORE,
    redisUrl: values.REDIS_URL,
    rateLimits: {
      requestsPerSecond: values.RATE_KEY,
      appsPerMinute: values.RATE_APPS,
      failuresPerMinute: values.RATE_FAILURES,
      checkoutsPerSecond: values.RATE_ADDRESS,
      refusalsPerTenMinutes: values.RATE_REFUSALS,
      mailsPerHour: values.RATE_MAILS,
      invitationsPerHour: values.RATE_INVITATIONS,
    },
  }
}
