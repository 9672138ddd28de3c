import { addressKey } from '@trestle/common/server/address-key.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { LimiterStoreSettings } from '@trestle/rate-limits/limiter-store.ts'
import type { InventoryTables } from '../database.ts'

interface RateLimitsSettings extends LimiterStoreSettings {
  /** 0 means no limit. */
  readonly requestsPerMinute: number
}

/** Limits a client's requests per minute. */
export interface RateLimits {
  /** Counts a request. Resolves to the seconds to wait if there were too many, otherwise to `undefined`. */
  readonly consume: (address: string) => Promise<number | undefined>
  /** @throws Error if the store does not answer */
  readonly check: () => Promise<void>
  readonly close: () => void
}

const MINUTE_SECONDS = 60

/** Opens the configured limit (reference: Rate limit). Resolves to `undefined` if there is none. */
export async function openRateLimits(
  settings: RateLimitsSettings,
  database: Pick<Database<InventoryTables>, 'db' | 'names'>,
  onError: (error: Error) => void,
): Promise<RateLimits | undefined> {
  if (settings.requestsPerMinute === 0) return undefined
  const { openLimiterStore } = await import('@trestle/rate-limits/limiter-store.ts')
  const { store, check, close } = await openLimiterStore(settings, database, onError)
  const limiter = store('client', { points: settings.requestsPerMinute, durationSeconds: MINUTE_SECONDS })
  return {
    consume: async (address: string): Promise<number | undefined> => {
      const waitMs = await limiter.consume(addressKey(address))
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
    },
    check,
    close,
  }
}
