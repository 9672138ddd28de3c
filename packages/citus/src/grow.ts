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
 * Prepares servers that were added to the cluster, and then moves parts of the tables until all servers have alike many rows.
 * The service goes on meanwhile: a part is copied first, and writes to it wait for a moment at the end.
 * @param say called when a move begins or ends
 * @throws Error when the database is not distributed, while Citus moves rows already, when a server may lose
 * commits in a move, or when a move fails
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
 * Makes on new servers what Citus does not make, and tries the logins there: a server that refuses one must get no rows.
 * @throws Error when a server refuses its part, or a login
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
 * Gives the rows of one owner a part of every table of their own, and moves it to a server. Writes of all
 * owners whose rows are in the same part wait while it is divided, and those of the owner for a moment at the
 * end of the move. When the command ends before Citus has, Citus stops and removes what it has made.
 * @param owner a value of the column that divides the tables
 * @param node the address of the server, as the coordinator knows it
 * @throws Error
 * - when the database is not distributed, or has no such owner or server
 * - while Citus moves rows
 * - when a server may lose commits in a move
 * - when other transactions held the rows for too long at each attempt
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
    // Without this setting a server notices that its client has gone only when it answers. Until then writers would wait for a
    // move that no longer has an operator.
    await db.connection().execute(async (connection) => {
      await sql`SET client_connection_check_interval = ${sql.lit(GONE_MS)}`.execute(connection)
      // The role of the owner has a lock_timeout for sessions on other servers. Citus takes some of the locks in this session.
      await sql`SET lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(connection)
      // A transaction that writes many rows may hold them for longer than the move waits.
      await againWhenLocked(async () => {
        const { isAlone } = await findShard(connection, literal(anchor), owner)
        if (!isAlone) await isolate(connection, literal(anchor), owner)
        const { id, node: from } = await findShard(connection, literal(anchor), owner)
        if (from !== wanted.id) await moveShard(connection, { id, from, to: wanted.id })
      })
    })
  })
}

/** How soon a server notices that the command has ended. */
const GONE_MS = 1_000

/**
 * Writes wait meanwhile: the time of a mode that copies while rows are written is not known beforehand (decision 36).
 */
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
  /** Whether it holds one value of the hash alone. */
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
 * @throws Error when the server is a worker, when a distribution was never made or is not complete, while
 * Citus moves rows, or when a server may lose commits in a move
 */
async function expectGrowth(db: Kysely<unknown>, { names }: DistributeOptions): Promise<void> {
  await expectCoordinator(db)
  const state = await readState(db, names)
  if (state !== 'distributed') throw new Error(`the database is ${state}, not distributed`)
  await expectNoMoves(db)
  await expectNoLoss(db)
}
