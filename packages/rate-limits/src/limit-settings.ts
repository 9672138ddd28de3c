import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { oneOf, secret, url } from '@trestle/common/config/setting.ts'

/** Settings for the place of the counts: in each process, or in a store for all processes. */
export const limitStoreSettings = {
  RATE_LIMIT_STORE: oneOf('memory', 'postgres', 'redis')
    .prefault('memory')
    .describe(
      'Where limits are counted. With `memory` each process counts for itself, from 0 after a restart; several processes share counts in `postgres` or `redis`.',
    ),
  REDIS_URL: secret(url('redis', 'rediss'))
    .optional()
    .describe('Redis that counts the limits. Required when the store is `redis`.'),
} as const

/** The rule that limits in Redis need its URL. @param prefix the prefix of the settings, such as `AUTH_` */
export function limitStoreRule(prefix: string): Rule<SettingValues<typeof limitStoreSettings>> {
  return ({ RATE_LIMIT_STORE, REDIS_URL }) =>
    RATE_LIMIT_STORE === 'redis' && REDIS_URL === undefined
      ? `${prefix}REDIS_URL is required when ${prefix}RATE_LIMIT_STORE is redis`
      : undefined
}
