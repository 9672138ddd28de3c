import { type QueryExecutorProvider, sql } from 'kysely'
import { findCitus } from './citus.ts'
import { listAway } from './servers.ts'

/** The number by which Citus marks its advisory locks of tables whose rows move. Each move and split holds one until it ends. */
const LOCK_OF_MOVES = 13

/**
 * Moves and splits of Citus that run in a database, each with what ends it. The command that began one may be gone. Without the
 * extension there are none.
 */
async function listMoves(db: QueryExecutorProvider): Promise<readonly string[]> {
  if ((await findCitus(db)) === undefined) return []
  const { rows } = await sql<{ text: string }>`
    SELECT format('process %s of %s (%s), which SELECT pg_cancel_backend(%1$s) ends', l.pid, coalesce(a.usename, 'unknown'),
        coalesce(nullif(left(a.query, 80), ''), 'unknown')) AS text
      FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.objsubid = ${LOCK_OF_MOVES} AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION
    SELECT format('job %s (%s), which SELECT citus_job_cancel(%1$s) ends', job_id, description)
      FROM pg_dist_background_job WHERE state IN ('scheduled', 'running', 'cancelling', 'failing')
    ORDER BY 1`.execute(db)
  return rows.map(({ text }) => text)
}

/**
 * Refuses what would wait for a move of rows, while nobody can write.
 * @throws Error when Citus moves rows of the database, or splits a part of a table
 */
export async function expectNoMoves(db: QueryExecutorProvider): Promise<void> {
  const moves = await listMoves(db)
  if (moves.length > 0) throw new Error(`Citus moves rows, so wait for its end: ${moves.join('; ')}`)
}

/**
 * The servers that acknowledge a commit before it is in their log, each with the setting. Citus ends a logical move once the new
 * server has everything that is written to the log of the old server (`pg_current_wal_lsn` in its multi_logical_replication.c),
 * so the new server may never get such a commit: rows that a client was told of would be gone.
 */
export async function listLazyCommits(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ text: string }>`
    SELECT n.nodename || ':' || n.nodeport || ' has ' || r.result AS text
    FROM run_command_on_all_nodes(${LAZY}) r JOIN pg_dist_node n USING (nodeid) WHERE r.success AND r.result <> ''
    ORDER BY n.groupid`.execute(db)
  return rows.map(({ text }) => text)
}

/**
 * A setting of a role or database counts too: connections of the service may have it, although the connection of the operator
 * does not.
 */
const LAZY = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off' OR EXISTS (
  SELECT FROM pg_db_role_setting JOIN pg_database d ON d.datname = current_database()
  WHERE setdatabase IN (0, d.oid) AND 'synchronous_commit=off' = ANY (setconfig)
) THEN 'synchronous_commit=off' ELSE '' END`

/**
 * Refuses a move of rows that might lose some.
 * @throws Error when a server does not answer, or acknowledges commits before they are in its log
 */
export async function expectNoLoss(db: QueryExecutorProvider): Promise<void> {
  const away = await listAway(db)
  if (away.length > 0) throw new Error(`no answer from ${away.join(', ')}, so no rows move`)
  const lazy = await listLazyCommits(db)
  if (lazy.length > 0) throw new Error(`a move of rows may lose commits that were acknowledged: ${lazy.join('; ')}`)
}
