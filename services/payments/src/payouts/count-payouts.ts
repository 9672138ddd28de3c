import type { Meter } from '@opentelemetry/api'
import type { PayoutSkip } from './payout-plan.ts'

/** Counts turns of merchants: `paid` where the day has its payout, else why not. */
export function countPayouts(meter: Meter): (skipped: PayoutSkip | 'failed' | undefined) => void {
  const payouts = meter.createCounter('payments_payouts_total', { description: 'Turns of merchants by outcome' })
  return (skipped) => payouts.add(1, { outcome: skipped ?? 'paid' })
}
