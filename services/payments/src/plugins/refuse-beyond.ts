import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { FastifyInstance } from 'fastify'
import { rateLimited } from '../errors.ts'
import type { RateLimit } from '../rate-limits/rate-limit.ts'

/**
 * Makes what counts an event under a key. A refusal is counted under `scope`.
 * @throws rateLimited beyond the limit, with Retry-After
 */
export function refuseBeyond(app: FastifyInstance, scope: string, limit: RateLimit): (key: string) => Promise<void> {
  const counter = app.deps.meter.createCounter('payments_rate_limited_total', {
    description: 'Requests refused by rate',
  })
  const refused = startAtZero(counter, [{ scope }])
  return async (key) => {
    const seconds = await limit.consume(key)
    if (seconds === undefined) return
    refused.add(1, { scope })
    throw rateLimited({ headers: { 'retry-after': String(seconds) } })
  }
}
