import { isDatabaseUnavailable, isRebalancingError } from '@trestle/database/unavailable.ts'

/**
 * Reads rows that an answer can do without while the database of a service is away, such as the counts beside its health.
 * @returns undefined while the database is unavailable or takes too long
 * @throws the error of `read` otherwise, also RebalancingError: operators wait for the end of a move
 */
export async function readIfAvailable<Rows>(read: () => Promise<Rows>): Promise<Rows | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isDatabaseUnavailable(error) && !isRebalancingError(error)) return undefined
    throw error
  }
}
