import type { FastifyInstance } from 'fastify'
import { createRefusal, type RateLimit, type TakenEvent, takeEvent } from '../rate-limits/rate-limits.ts'

/** A rate limit, and the key under which an event counts. */
export interface CountedEvent {
  readonly limit: RateLimit
  readonly key: string
}

/** Rate limits on the effects of requests. A request without an effect uses up nothing. */
interface EffectLimit {
  /** Refuses a request if no event is left. Counts nothing, so a stranger adds no key. @throws rateLimited */
  requireLeft(events: readonly CountedEvent[]): Promise<void>
  /**
   * Counts the events and then does the work. If the work fails or has no effect, it gives the events back.
   * @throws rateLimited before the work, if a limit is exceeded
   */
  count<Result>(
    events: readonly CountedEvent[],
    work: () => Promise<Result>,
    hasEffect: (result: Result) => boolean,
  ): Promise<Result>
}

/** Returns the limit on the effects of a route (reference: Rate limits). Refusals are counted under `scope`. */
export function limitEffects(app: FastifyInstance, scope: string): EffectLimit {
  const refuse: (seconds: number) => never = createRefusal(app.deps.meter, scope)
  return {
    requireLeft: async (events) => {
      for (const { limit, key } of events) {
        const seconds = await limit.wait(key)
        if (seconds !== undefined) refuse(seconds)
      }
    },
    count: async (events, work, hasEffect) => {
      const taken: TakenEvent[] = []
      let isEffective = false
      try {
        for (const { limit, key } of events) {
          const event = await takeEvent(limit, key)
          if (typeof event === 'number') refuse(event)
          taken.push(event)
        }
        const result = await work()
        isEffective = hasEffect(result)
        return result
      } finally {
        if (!isEffective) await Promise.all(taken.map((event) => event.giveBack()))
      }
    },
  }
}

/** Returns a function that counts an event. @throws rateLimited if the limit is exceeded, counted under `scope` */
export function refuseBeyond(app: FastifyInstance, scope: string, limit: RateLimit): (key: string) => Promise<void> {
  const refuse = createRefusal(app.deps.meter, scope)
  return async (key) => {
    const seconds = await limit.consume(key)
    if (seconds !== undefined) refuse(seconds)
  }
}
