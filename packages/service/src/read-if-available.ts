import { isDatabaseUnavailable, isRebalancingError } from '@trestle/database/unavailable.ts'

/**
 * Reads rows that a response can omit if the database of the service is unavailable, such as the counts on a health page.
 * @returns `undefined` if the database is unavailable or takes too long
 * @throws any other error of `read`, including RebalancingError, because operators wait for the end of a rebalance
 */
export async function readIfAvailable<Rows>(read: () => Promise<Rows>): Promise<Rows | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isDatabaseUnavailable(error) && !isRebalancingError(error)) return undefined
    throw error
  }
}
