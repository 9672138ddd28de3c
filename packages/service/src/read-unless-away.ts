import { isDatabaseUnavailable, isMovingRows } from '@trestle/database/unavailable.ts'

/**
 * Reads rows that an answer can do without while the database of a service is away, such as the counts beside its health.
 * @returns undefined while the database is away or takes too long
 * @throws the error of `read` otherwise, also MovingRowsError: operators wait for the end of a move
 */
export async function readUnlessAway<Rows>(read: () => Promise<Rows>): Promise<Rows | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isDatabaseUnavailable(error) && !isMovingRows(error)) return undefined
    throw error
  }
}
