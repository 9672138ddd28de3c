import type { Meter } from '@opentelemetry/api'
import { rateLimited } from '../errors.ts'
import type { RateLimits } from './limits.ts'

/** Stops who tries cards at live merchants: after many refusals an address waits. @see contract 21, 24 */
export interface CardTesting {
  /** @throws 429 when too many cards from the address were refused */
  judge(address: string): Promise<void>
  /** Counts a refused card. */
  count(address: string): Promise<void>
}

export function createCardTesting({ refusals }: Pick<RateLimits, 'refusals'>, meter: Meter): CardTesting {
  const limited = meter.createCounter('payments_rate_limited_total', { description: 'Requests refused by rate' })
  return {
    judge: async (address) => {
      const seconds = await refusals.wait(address)
      if (seconds === undefined) return
      limited.add(1, { scope: 'refusals' })
      throw rateLimited({ headers: { 'retry-after': String(seconds) } })
    },
    count: async (address) => {
      await refusals.consume(address)
    },
  }
}
