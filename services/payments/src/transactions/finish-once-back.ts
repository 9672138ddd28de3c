const PAUSE_MS = 500
/** Together 40 s at least. After 60 s a job calls the attempt unknown. Tries while rows move do not count: the job waits too. */
const TRIES_MAX = 80

/** How an attempt ends. */
export interface Ending<Finished> {
  readonly finish: () => Promise<Finished>
  /** Whether the attempt had its outcome before. */
  readonly isSettled: (finished: Finished) => boolean
  /** Whether an error says that the database is away. */
  readonly isAway: (error: unknown) => boolean
  /** Whether it is away because rows move to other servers, which ends however long it takes. */
  readonly isMoving: (error: unknown) => boolean
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Writes what the acquirer has answered. While the database is away, this is tried again: otherwise the attempt would become
 * unknown, and an approved payment would be reversed.
 * @throws the first error when the database stays away, and when a later try finds the attempt settled. The first try may have
 * settled it before its answer was lost, so only a repeat of the request gets the outcome
 */
export async function finishOnceBack<Finished>(ending: Ending<Finished>): Promise<Finished> {
  try {
    return await ending.finish()
  } catch (error) {
    if (!ending.isAway(error)) throw error
    const finished = await finishLater(ending)
    if (finished === undefined || ending.isSettled(finished)) throw error
    return finished
  }
}

/** Undefined: the database has stayed away. */
async function finishLater<Finished>({
  finish,
  isAway,
  isMoving,
  wait,
}: Ending<Finished>): Promise<Finished | undefined> {
  for (let tries = 0; tries < TRIES_MAX; ) {
    await wait(PAUSE_MS)
    try {
      return await finish()
    } catch (error) {
      if (!isAway(error)) throw error
      if (!isMoving(error)) tries += 1
    }
  }
  return undefined
}
