import type { Database } from '@trestle/database/connect.ts'
import { CompiledQuery } from 'kysely'
import type { PaymentsConfig } from '../config.ts'
import type { PaymentsTables } from '../database.ts'
import type { QueryClient, RateLimitStore } from './rate-limit.ts'

/** An open store, and how to end it. */
export type OpenRateLimitStore = RateLimitStore & { close(): Promise<void> }

/** Opens the store that the settings name. */
export async function openRateLimitStore(
  { rateLimitStore, redisUrl }: Pick<PaymentsConfig, 'rateLimitStore' | 'redisUrl'>,
  database: Database<PaymentsTables>,
  onError: (error: Error) => void,
): Promise<OpenRateLimitStore> {
  if (rateLimitStore === 'postgres') {
    const { schema, prefix } = database.names
    return {
      kind: 'postgres',
      client: clientOf(database),
      schema,
      table: `${prefix}rate_limits`,
      close: async () => {},
    }
  }
  if (rateLimitStore === 'redis' && redisUrl !== undefined) {
    const { Redis } = await import('ioredis')
    // Without a queue a command fails at once while Redis is away, and the process's own memory counts instead.
    const client = new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 0 })
    client.on('error', onError)
    return { kind: 'redis', client, close: async () => client.disconnect() }
  }
  return { kind: 'memory', close: async () => {} }
}

/** The pool as the limiter knows it. It calculates with `expire`, so that must be a number. */
function clientOf({ db }: Database<PaymentsTables>): QueryClient {
  return {
    query: async ({ text, values }) => {
      const { rows } = await db.executeQuery<object>(CompiledQuery.raw(text, [...values]))
      return { rows: rows.map((row) => ('expire' in row ? { ...row, expire: Number(row.expire) } : row)) }
    },
  }
}
