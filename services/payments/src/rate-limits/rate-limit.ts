import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterStoreAbstract,
} from 'rate-limiter-flexible'

/** Counts events of one kind by key. */
export interface RateLimit {
  /** Counts one event. Resolves to undefined while the key is within its limit, else to whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
}

/** A number of events in a window of time. */
export interface Window {
  /** Part of every key. */
  readonly name: string
  /** 0 switches the limit off. */
  readonly events: number
  readonly seconds: number
}

/** Where counters are kept: in the process, or where several processes share them. */
export type RateLimitStore =
  | { readonly kind: 'memory' }
  | { readonly kind: 'postgres'; readonly client: QueryClient; readonly schema: string; readonly table: string }
  | { readonly kind: 'redis'; readonly client: unknown }

/** What the limiter wants of a PostgreSQL client. */
export interface QueryClient {
  query(query: { readonly text: string; readonly values: readonly unknown[] }): Promise<{ readonly rows: unknown[] }>
}

/** Makes the limit of a window. A store that does not answer is replaced by the process's memory meanwhile. */
export function createRateLimit(window: Window, store: RateLimitStore): RateLimit {
  if (window.events === 0) return { consume: async () => undefined }
  const limiter = createLimiter(window, store)
  return {
    consume: async (key) => {
      try {
        await limiter.consume(key)
        return undefined
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1_000))
        throw refusal
      }
    },
  }
}

function createLimiter(window: Window, store: RateLimitStore): RateLimiterMemory | RateLimiterStoreAbstract {
  const options = { keyPrefix: window.name, points: window.events, duration: window.seconds }
  const memory = new RateLimiterMemory(options)
  if (store.kind === 'memory') return memory
  const shared = {
    ...options,
    storeClient: store.client,
    insuranceLimiter: memory,
    inMemoryBlockOnConsumed: window.events + 1,
  }
  if (store.kind === 'redis') return new RateLimiterRedis(shared)
  return new RateLimiterPostgres({
    ...shared,
    storeType: 'client',
    schemaName: store.schema,
    tableName: store.table,
    tableCreated: true,
  })
}
