import type { Meter } from '@opentelemetry/api'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { rateLimited } from '../errors.ts'
import type { PaymentEnd } from '../payments/checkout-repository.ts'
import type { RateLimits } from './limits.ts'
import { createTurns } from './turns.ts'

/** Stops who tries cards at live merchants: after many refusals an address waits. @see contract 21, 24 */
export interface CardTesting {
  /**
   * Has a payment from an address decided, and counts it when it is refused.
   * @throws 429 when too many cards from the address were refused
   */
  watch(address: string, decide: () => Promise<PaymentEnd | undefined>): Promise<PaymentEnd | undefined>
}

export function createCardTesting({ refusals }: Pick<RateLimits, 'refusals'>, meter: Meter): CardTesting {
  const counter = meter.createCounter('payments_rate_limited_total', { description: 'Requests refused by rate' })
  const limited = startAtZero(counter, [{ scope: 'refusals' }])
  // All that are sent at once would pass before the first is refused: no more are under way than may be refused.
  const inTurn = createTurns(refusals.events)
  return {
    watch: (address, decide) =>
      inTurn(addressKey(address), async () => {
        const seconds = await refusals.wait(address)
        if (seconds !== undefined) {
          limited.add(1, { scope: 'refusals' })
          throw rateLimited({ headers: { 'retry-after': String(seconds) } })
        }
        const end = await decide()
        if (end && 'statusCode' in end) await refusals.consume(address)
        return end
      }),
  }
}
