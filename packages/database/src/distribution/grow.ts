import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { underLock, withDatabase } from '../migrations/migration-connection.ts'
import { listNodes, literal, qualified } from './citus.ts'
import { type DistributeOptions, distributionOf } from './distribute.ts'
import { readState } from './notes.ts'
import { listCloseStatements } from './placement.ts'
import { ownerStatements, roleStatements, sequenceStatements } from './servers.ts'
import { runStep } from './steps.ts'

const POLL_MS = 1_000

/**
 * Prepares servers that were added to the cluster, and then moves parts of the tables until all servers have alike many rows.
 * The service goes on meanwhile: a part is copied first, and writes to it wait for a moment at the end.
 * @param say called when a move begins or ends
 * @throws Error when the database is not distributed, or when a move fails
 */
export async function rebalance(options: DistributeOptions, say: (line: string) => void): Promise<void> {
  await underLock(options, async (db) => {
    await expectDistributed(db, options)
    await prepareServers(db, options)
  })
  await withDatabase(options, async (db) => {
    const { rows } = await sql<{ job: string | null }>`SELECT citus_rebalance_start()::text AS job`.execute(db)
    const job = rows[0]?.job
    if (job === null || job === undefined) return say('every server has alike many rows already')
    await followJob(db, job, say)
  })
}

/** Makes on new servers what Citus does not make. */
async function prepareServers(db: Kysely<unknown>, options: DistributeOptions): Promise<void> {
  const { names, login } = await distributionOf(options)
  const statements = [
    ...(await listCloseStatements(db, names)),
    ...(await roleStatements(db, names, login)),
    ...(await ownerStatements(db, login)),
    ...(await sequenceStatements(db, names, login.role)),
  ]
  await runStep(db, { title: 'prepare the servers', statements })
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
 * Gives the rows of one owner a part of every table of their own, and moves it to a server.
 * @param owner a value of the column that divides the tables
 * @param node the address of the server, as the coordinator knows it
 * @throws Error when the database is not distributed, or when it has no such owner or server
 */
export function isolateOwner(
  options: DistributeOptions,
  { owner, node }: { readonly owner: string; readonly node: string },
): Promise<void> {
  return underLock(options, async (db) => {
    await expectDistributed(db, options)
    await prepareServers(db, options)
    const { names, target } = await distributionOf(options)
    const wanted = (await listNodes(db)).find(({ host, port }) => `${host}:${port}` === node)
    if (!wanted?.holdsShards) throw new Error(`${node} is no server of the cluster that holds rows`)
    const anchor = qualified(names, target.anchor)
    const known = await sql`SELECT FROM ${sql.raw(anchor)} WHERE ${sql.ref(target.column)} = ${owner}`.execute(db)
    if (known.rows.length === 0) throw new Error(`no row has ${target.column} ${owner}`)
    const place = await findShard(db, literal(anchor), owner)
    const shard = place.isAlone ? place.id : await isolate(db, literal(anchor), owner)
    const from = await findShard(db, literal(anchor), owner)
    if (from.node === wanted.id) return
    await sql`SELECT citus_move_shard_placement(${shard}::bigint, ${from.node}::int, ${wanted.id}::int, 'force_logical')`.execute(
      db,
    )
  })
}

async function isolate(db: Kysely<unknown>, anchor: string, owner: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    SELECT isolate_tenant_to_new_shard(${sql.raw(anchor)}::regclass, ${owner}::text, 'CASCADE', 'force_logical')::text AS id`.execute(
    db,
  )
  return rows[0]?.id ?? ''
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

/** @throws Error when a distribution was never made, or is not complete */
async function expectDistributed(db: Kysely<unknown>, { names }: DistributeOptions): Promise<void> {
  const state = await readState(db, names)
  if (state !== 'distributed') throw new Error(`the database is ${state}, not distributed`)
}
