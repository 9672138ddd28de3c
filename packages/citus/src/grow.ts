import { setTimeout as pause } from 'node:timers/promises'
import { againWhenLocked, underLock, withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { type Kysely, sql } from 'kysely'
import { listNodes, literal, qualified } from './citus.ts'
import { type DistributeOptions, distributionOf, listRoleSteps, rolesOf, runStep, trialStep } from './distribute.ts'
import { expectCoordinator, readState } from './notes.ts'
import { listCloseStatements } from './placement.ts'
import { expectNoLoss, expectNoMoves, listOwnerStatements, listSequenceStatements } from './servers.ts'

const POLL_MS = 1_000

/**
 * Prepares servers that were added to the cluster, and then moves shards until all servers have similar numbers of rows. The
 * service keeps running: Citus first copies a shard, and writes to the shard wait only briefly at the end.
 * @param say called when a move begins or ends
 * @throws Error if the database is not distributed, if Citus is already moving rows, if a server may lose commits in a move, or
 * if a move fails
 */
export async function rebalance(options: DistributeOptions, say: (line: string) => void): Promise<void> {
  await underLock(options, async (db) => {
    await expectGrowth(db, options)
    await prepareServers(db, options)
  })
  await withDatabase(options, async (db) => {
    const { rows } = await sql<{ job: string | null }>`SELECT citus_rebalance_start()::text AS job`.execute(db)
    const job = rows[0]?.job
    if (job === null || job === undefined) return say('every server has alike many rows already')
    await followJob(db, job, say)
  })
}

/**
 * Creates on new servers what Citus does not create, and tries the logins. A server that refuses one must get no rows.
 * @throws Error if a server refuses a statement or a login
 */
async function prepareServers(db: Kysely<unknown>, options: DistributeOptions): Promise<void> {
  const { names, logins, lockTimeoutMs } = await distributionOf(options)
  await runStep(db, { title: 'close functions on the servers', statements: await listCloseStatements(db, names) })
  for (const step of await listRoleSteps(db, logins)) await runStep(db, step)
  const statements = [
    ...(await listOwnerStatements(db, lockTimeoutMs)),
    ...(await listSequenceStatements(db, names, rolesOf(logins))),
  ]
  await runStep(db, { title: 'prepare the servers', statements })
  await runStep(db, trialStep(logins))
}

interface JobRow {
  readonly state: string
  readonly done: number
  readonly of: number
  readonly errors: string | null
}

async function followJob(db: Kysely<unknown>, job: string, say: (line: string) => void): Promise<void> {
  for (let said = -1; ; ) {
    const { rows } = await sql<JobRow>`
      SELECT j.state::text, count(*) FILTER (WHERE t.status = 'done')::int AS done, count(t.task_id)::int AS of,
        string_agg(t.message, '; ') FILTER (WHERE t.status = 'error') AS errors
      FROM pg_dist_background_job j LEFT JOIN pg_dist_background_task t USING (job_id)
      WHERE j.job_id = ${job}::bigint GROUP BY j.state`.execute(db)
    const { state, done, of, errors } = rows[0] ?? { state: 'unknown', done: 0, of: 0, errors: null }
    if (done !== said) say(`moved ${done} of ${of}`)
    said = done
    if (state === 'finished') return
    if (!['scheduled', 'running', 'failing'].includes(state)) throw new Error(`the moves are ${state}: ${errors ?? ''}`)
    await pause(POLL_MS)
  }
}

/**
 * Gives the rows of one owner a separate shard of each table, and moves these shards to a server. While Citus splits the shard,
 * writes of all owners in the shard wait. At the end of the move, writes of this owner wait briefly. If the command is
 * interrupted, Citus stops and removes what it has created.
 * @param owner a value of the column that divides the tables
 * @param node the address of the server, as the coordinator uses it
 * @throws Error
 * - if the database is not distributed, or has no such owner or server
 * - if Citus is moving rows
 * - if a server may lose commits in a move
 * - if other transactions held the rows for too long at each attempt
 */
export function isolateTenant(
  options: DistributeOptions,
  { owner, node }: { readonly owner: string; readonly node: string },
): Promise<void> {
  return underLock(options, async (db) => {
    await expectGrowth(db, options)
    await prepareServers(db, options)
    const { names, target, lockTimeoutMs } = await distributionOf(options)
    const wanted = (await listNodes(db)).find(({ host, port }) => `${host}:${port}` === node)
    if (!wanted?.holdsShards) throw new Error(`${node} is no server of the cluster that holds rows`)
    const anchor = qualified(names, target.anchor)
    const known = await sql`SELECT FROM ${sql.raw(anchor)} WHERE ${sql.ref(target.column)} = ${owner}`.execute(db)
    if (known.rows.length === 0) throw new Error(`no row has ${target.column} ${owner}`)
    // Without this setting, a server notices a closed client connection only when it sends the answer. If the operator stops the
    // command, writers would then keep waiting for the abandoned move.
    await db.connection().execute(async (connection) => {
      await sql`SET client_connection_check_interval = ${sql.lit(GONE_MS)}`.execute(connection)
      // The owner's role has a `lock_timeout` on other servers. This session needs it too, for the locks that Citus takes here.
      await sql`SET lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(connection)
      // Try again, because a transaction that writes many rows may hold them for longer than the move waits.
      await againWhenLocked(async () => {
        const { isAlone } = await findShard(connection, literal(anchor), owner)
        if (!isAlone) await isolate(connection, literal(anchor), owner)
        const { id, node: from } = await findShard(connection, literal(anchor), owner)
        if (from !== wanted.id) await moveShard(connection, { id, from, to: wanted.id })
      })
    })
  })
}

/** How often a server checks whether the client has disconnected. */
const GONE_MS = 1_000

/** Blocks writes during the split. The duration of a copy during writes is unpredictable (decision 36). */
async function isolate(db: Kysely<unknown>, anchor: string, owner: string): Promise<void> {
  await sql`
    SELECT isolate_tenant_to_new_shard(${sql.raw(anchor)}::regclass, ${owner}::text, 'CASCADE', 'block_writes')`.execute(
    db,
  )
}

function moveShard(
  db: Kysely<unknown>,
  { id, from, to }: { readonly id: string; readonly from: number; readonly to: number },
): Promise<unknown> {
  return sql`SELECT citus_move_shard_placement(${id}::bigint, ${from}::int, ${to}::int, 'force_logical')`.execute(db)
}

interface ShardRow {
  readonly id: string
  readonly node: number
  /** Whether the shard contains only one hash value. */
  readonly isAlone: boolean
}

async function findShard(db: Kysely<unknown>, anchor: string, owner: string): Promise<ShardRow> {
  const { rows } = await sql<ShardRow>`
    SELECT s.shardid::text AS id, n.nodeid AS node, s.shardminvalue = s.shardmaxvalue AS "isAlone"
    FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
    WHERE n.noderole = 'primary'
      AND s.shardid = get_shard_id_for_distribution_column(${sql.raw(anchor)}::regclass, ${owner}::text)`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error(`${owner} has no part of the tables`)
  return row
}

/**
 * @throws Error if the server is a worker, if the database is not completely distributed, if Citus is moving rows, or if a server
 * may lose commits in a move
 */
async function expectGrowth(db: Kysely<unknown>, { names }: DistributeOptions): Promise<void> {
  await expectCoordinator(db)
  const state = await readState(db, names)
  if (state !== 'distributed') throw new Error(`the database is ${state}, not distributed`)
  await expectNoMoves(db)
  await expectNoLoss(db)
}
