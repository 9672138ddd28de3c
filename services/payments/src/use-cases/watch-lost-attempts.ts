import { endLostAttempts, type LostAttemptDeps } from './end-lost-attempts.ts'

/**
 * A process that waits for the database tries to write every half second (finish-attempt.ts), so it writes between two looks that
 * the database has answered. With the age and two looks, a repeat of the request is answered well within 30 s of a restart.
 */
const LOOK_MS = 3_000

/**
 * Looks every 3 s for attempts of processes that have ended, in each process and beside the queue: a job that
 * a killed process was doing would wait for its time limit first. The function that it returns ends this after
 * the current look.
 */
export function watchLostAttempts(deps: LostAttemptDeps): () => Promise<void> {
  let seen: ReadonlySet<string> = new Set()
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    try {
      seen = await endLostAttempts(deps, seen)
    } catch (error) {
      // The database may have been away for other processes too: each of them gets the time of two looks again.
      seen = new Set()
      deps.logger.warn({ err: error }, 'attempts without an outcome could not be read')
    } finally {
      running = undefined
    }
  }
  const timer = setInterval(() => {
    running ??= look()
  }, LOOK_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
