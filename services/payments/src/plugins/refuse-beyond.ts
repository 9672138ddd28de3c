import type { FastifyInstance } from 'fastify'
import { createRefusal } from '../rate-limits/create-refusal.ts'
import type { RateLimit } from '../rate-limits/rate-limit.ts'

/**
 * Makes what counts an event under a key. A refusal is counted under `scope`.
 * @throws rateLimited beyond the limit, with Retry-After
 */
export function refuseBeyond(app: FastifyInstance, scope: string, limit: RateLimit): (key: string) => Promise<void> {
  const refuse = createRefusal(app.deps.meter, scope)
  return async (key) => {
    const seconds = await limit.consume(key)
    if (seconds !== undefined) refuse(seconds)
  }
}
