import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { FastifyInstance } from 'fastify'
import { rateLimited } from '../errors.ts'
import type { RateLimit } from '../rate-limits/rate-limit.ts'

/** Counts an event under a key; throws 429 with Retry-After beyond the limit, and counts the refusal under `scope`. */
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
