import { LRUCache } from 'lru-cache'

/** Targets of this process that have let every delivery run into its limit of late. */
export interface SilentTargets {
  /** Whether a webhook is to be left alone for now. After a rest one delivery is let through, to see. */
  isResting(webhookId: string, now: Date): boolean
  /** Notes that a target gave an answer, whatever it was, or gave none. */
  note(webhookId: string, hasAnswered: boolean, now: Date): void
}

/** So often in a row a target may be silent. */
const SILENCES_MAX = 3
const FIRST_REST_MS = 10_000
const LONGEST_REST_MS = 300_000
/** As long as a delivery that is let through may take. */
const LOOK_MS = 5_000
const REMEMBERED = 10_000

interface Silence {
  readonly count: number
  readonly restsUntilMs: number
}

/**
 * A delivery to a silent target holds its worker for five seconds. Without rest, the events of a few such targets would keep
 * all workers, and every merchant's events would be late.
 */
export function createSilentTargets(): SilentTargets {
  const silences = new LRUCache<string, Silence>({ max: REMEMBERED })
  return {
    isResting: (webhookId, now) => {
      const silence = silences.get(webhookId)
      if (silence === undefined || silence.count < SILENCES_MAX) return false
      if (now.getTime() < silence.restsUntilMs) return true
      silences.set(webhookId, { ...silence, restsUntilMs: now.getTime() + LOOK_MS })
      return false
    },
    note: (webhookId, hasAnswered, now) => {
      if (hasAnswered) return void silences.delete(webhookId)
      const count = (silences.get(webhookId)?.count ?? 0) + 1
      const restMs = Math.min(FIRST_REST_MS * 2 ** Math.max(0, count - SILENCES_MAX), LONGEST_REST_MS)
      silences.set(webhookId, { count, restsUntilMs: now.getTime() + restMs })
    },
  }
}
