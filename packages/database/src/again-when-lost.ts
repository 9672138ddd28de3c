import { isLostConflict } from './unavailable.ts'

/** How often work is done again. */
const TIMES_MAX = 5

/** Does work that lost against others (serialization, deadlock) again: it has done nothing, and its client need not know. */
export async function againWhenLost<T>(work: () => Promise<T>, times = TIMES_MAX): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (times === 0 || !isLostConflict(error)) throw error
    return againWhenLost(work, times - 1)
  }
}
