import pg from 'pg'

/**
 * Waits until no other test file moves rows on the cluster, and keeps them from it. Citus names the replication slot of a move by a
 * number that each database counts for itself, but a server has each name once. So moves of two databases can collide, and the one
 * that fails drops the slot of the other.
 * @param url a database on the coordinator
 * @returns lets the next file move rows
 */
export async function lockMovesOfRows(url: string): Promise<() => Promise<void>> {
  const shared = new URL(url)
  // Advisory locks are those of a database, and this one is the same for all files.
  shared.pathname = '/postgres'
  const client = new pg.Client({ connectionString: shared.href })
  await client.connect()
  await client.query("SELECT pg_advisory_lock(hashtext('moves of rows'))")
  return () => client.end()
}

/** How long a file may wait for the others, in milliseconds. */
export const MOVES_TIMEOUT_MS = 600_000
