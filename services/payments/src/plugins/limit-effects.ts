import type { FastifyInstance } from 'fastify'
import { createRefusal, type RateLimit, type TakenEvent, takeEvent } from '../rate-limits/rate-limits.ts'

/** An event of a limit, and the key under which it counts. */
export interface CountedEvent {
  readonly limit: RateLimit
  readonly key: string
}

/** The limits of what requests cause. A request that causes nothing uses up nothing. */
interface EffectLimit {
  /** Refuses a request that has no event left. Counts nothing, so a stranger adds no key. @throws rateLimited */
  requireLeft(events: readonly CountedEvent[]): Promise<void>
  /**
   * Counts the events, does the work, and takes the events back where it failed or had no effect.
   * @throws rateLimited before the work, beyond a limit
   */
  count<Result>(
    events: readonly CountedEvent[],
    work: () => Promise<Result>,
    hasEffect: (result: Result) => boolean,
  ): Promise<Result>
}

/** Returns the limit of the effects of a route (reference: Rate limits). Its refusals are counted under `scope`. */
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

/** Returns a function that counts an event of a key. @throws rateLimited beyond the limit, counted under `scope` */
export function refuseBeyond(app: FastifyInstance, scope: string, limit: RateLimit): (key: string) => Promise<void> {
  const refuse = createRefusal(app.deps.meter, scope)
  return async (key) => {
    const seconds = await limit.consume(key)
    if (seconds !== undefined) refuse(seconds)
  }
}
