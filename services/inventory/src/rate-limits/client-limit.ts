import { addressKey } from '@trestle/common/server/address-key.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { LimiterStoreSettings } from '@trestle/service/limiter-store.ts'
import type { InventoryTables } from '../database.ts'

/** How many requests a client may send in a window of a minute (reference: Rate limit). An IPv6 address stands for its network. */
export interface ClientLimit {
  /** Counts a request. Resolves to the whole seconds to wait when it was one too many, else to undefined. */
  consume(address: string): Promise<number | undefined>
  /** Throws unless the store answers. */
  check(): Promise<void>
  close(): void
}

interface ClientLimitSettings extends LimiterStoreSettings {
  /** 0: as many as they like. */
  readonly requestsPerMinute: number
}

const MINUTE_SECONDS = 60

/** Opens the limit that the settings name; undefined where there is none. */
export async function openClientLimit(
  settings: ClientLimitSettings,
  database: Pick<Database<InventoryTables>, 'db' | 'names'>,
  onError: (error: Error) => void,
): Promise<ClientLimit | undefined> {
  if (settings.requestsPerMinute === 0) return undefined
  const { openLimiterStore } = await import('@trestle/service/limiter-store.ts')
  const { store, check, close } = await openLimiterStore(settings, database, onError)
  const limiter = store('client', { points: settings.requestsPerMinute, durationSeconds: MINUTE_SECONDS })
  return {
    consume: async (address) => {
      const waitMs = await limiter.consume(addressKey(address))
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
    },
    check,
    close,
  }
}
