import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { rateLimited } from '../errors.ts'

/**
 * Makes what refuses a request beyond a limit for so many seconds. Refusals are counted under `scope`.
 * @throws rateLimited with Retry-After, from the function that is returned
 */
export function createRefusal(meter: Meter, scope: string): (seconds: number) => never {
  const counter = meter.createCounter('payments_rate_limited_total', { description: 'Requests refused by rate' })
  const refused = startAtZero(counter, [{ scope }])
  return (seconds) => {
    refused.add(1, { scope })
    throw rateLimited({ headers: { 'retry-after': String(seconds) } })
  }
}
