import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { oneOf, secret, url } from '@trestle/common/config/setting.ts'

/** The settings that say where limits are counted: in the process, or in a store that processes share. */
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

/** Limits in Redis need its address. The settings of the service have the prefix: `AUTH_`. */
export function limitStoreRule(prefix: string): Rule<SettingValues<typeof limitStoreSettings>> {
  return ({ RATE_LIMIT_STORE, REDIS_URL }) =>
    RATE_LIMIT_STORE === 'redis' && REDIS_URL === undefined
      ? `${prefix}REDIS_URL is required when ${prefix}RATE_LIMIT_STORE is redis`
      : undefined
}
