/** `ok`, or a short text of what is wrong. */
export type Health = string

/** How long what a process depends on may take to answer. Longer than a good server needs, and shorter than a request lasts. */
const PATIENCE_MS = 3_000

/**
 * Asks whether something that a process depends on works, such as a mail server, for a page that shows its health.
 * @param ask rejects where it does not work. Without an answer after `patienceMs` milliseconds it counts as not working
 * @returns `ok`, or the problem
 */
export async function askHealth(
  ask: () => Promise<unknown>,
  problem: string,
  patienceMs: number = PATIENCE_MS,
): Promise<Health> {
  const late = Promise.withResolvers<Health>()
  const timer = setTimeout(() => late.resolve(problem), patienceMs)
  const answer = ask().then(
    () => 'ok',
    () => problem,
  )
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}
