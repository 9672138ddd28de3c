import { isDatabaseUnavailable, isMovingRows } from '@trestle/database/unavailable.ts'

/** `ok`, or a short text of what is wrong. */
export type Health = string

/** How long what a service depends on may take to answer. Longer than a good server needs, and shorter than a request lasts. */
const PATIENCE_MS = 3_000

/**
 * Asks whether something that a service depends on works, for the overview of operators.
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

/**
 * Reads counts for the overview of operators, which tells the health of the service without them too.
 * @returns undefined while the database is away or takes too long
 * @throws the error of `read` otherwise, also MovingRowsError: operators wait for the end of a move
 */
export async function readUnlessAway<Counts>(read: () => Promise<Counts>): Promise<Counts | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isDatabaseUnavailable(error) && !isMovingRows(error)) return undefined
    throw error
  }
}
