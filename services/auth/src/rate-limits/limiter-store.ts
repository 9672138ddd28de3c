import type { Names } from '@trestle/migrations/migration.ts'
import { CompiledQuery, type Kysely } from 'kysely'
import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterStoreAbstract,
} from 'rate-limiter-flexible'
import type { AuthDatabase } from '../database.ts'
import type { Window } from './windows.ts'

/** Counts the uses of keys in fixed windows. */
export interface Limiter {
  /** Counts one use. @returns the milliseconds to wait when that was one too many, else undefined */
  consume(key: string): Promise<number | undefined>
  /** The milliseconds to wait when no use is left, else undefined. Counts nothing. */
  waitMs(key: string): Promise<number | undefined>
  /** Takes one use back. */
  reward(key: string): Promise<void>
}

/** Makes the limiter of a name: this process's memory, PostgreSQL or Redis hold the counts. */
export type LimiterStore = (name: string, window: Window) => Limiter

export function memoryStore(): LimiterStore {
  return (name, window) => toLimiter(new RateLimiterMemory(options(name, window)))
}

/** Counts in the table `rate_limits`, which a migration has made. */
export function postgresStore(db: Kysely<AuthDatabase>, names: Names): LimiterStore {
  const client = {
    query: async ({ text, values }: { readonly text: string; readonly values: unknown[] }) => {
      const { rows } = await db.executeQuery<CounterRow>(CompiledQuery.raw(text, values))
      // The library computes with numbers; bigint columns arrive as bigint.
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length }
    },
  }
  return (name, window) =>
    toLimiter(
      new RateLimiterPostgres({
        ...options(name, window),
        storeClient: client,
        storeType: 'client',
        schemaName: names.schema,
        tableName: `${names.prefix}rate_limits`,
        tableCreated: true,
      }),
    )
}

interface CounterRow {
  readonly points: number
  /** Epoch milliseconds. */
  readonly expire: bigint
}

/** @param client a connection of ioredis */
export function redisStore(client: unknown): LimiterStore {
  return (name, window) => toLimiter(new RateLimiterRedis({ ...options(name, window), storeClient: client }))
}

function options(name: string, { points, durationSeconds }: Window) {
  return { keyPrefix: `auth:${name}`, points, duration: durationSeconds }
}

function toLimiter(limiter: RateLimiterMemory | RateLimiterStoreAbstract): Limiter {
  return {
    consume: async (key) => {
      try {
        await limiter.consume(key)
        return undefined
      } catch (refused) {
        // The library throws its result when the points are used up, an Error when its store fails.
        if (refused instanceof RateLimiterRes) return refused.msBeforeNext
        throw refused
      }
    },
    waitMs: async (key) => {
      const state = await limiter.get(key)
      return state && state.remainingPoints <= 0 ? state.msBeforeNext : undefined
    },
    reward: async (key) => {
      await limiter.reward(key)
    },
  }
}
