import type { RateLimit } from './rate-limit.ts'

/** An event that was counted before it happened. */
export interface TakenEvent {
  /** Takes the event back, because it did not happen. */
  giveBack(): Promise<void>
}

/**
 * Counts one event before it has happened, so that events at once stay within the limit. A refused event is not counted.
 * @returns the counted event, or whole seconds to wait, at least 1
 */
export async function takeEvent(limit: RateLimit, key: string): Promise<TakenEvent | number> {
  const noneLeft = await limit.wait(key)
  if (noneLeft !== undefined) return noneLeft
  const seconds = await limit.consume(key)
  // Read after the count: a count may begin the window of its key, and is not given back to a window that began later.
  const takenMs = performance.now()
  const giveBack = () => limit.giveBack(key, takenMs)
  if (seconds === undefined) return { giveBack }
  await giveBack()
  return seconds
}
