import { type DistributionState, followState, isRebalancing } from '@trestle/citus/notes.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Database } from '@trestle/database/connect.ts'
import { overHosts } from '@trestle/database/driver/hosts.ts'
import { createNames } from '@trestle/database/names.ts'
import type { DatabaseMode } from '@trestle/database/pools.ts'
import type { TakeRows } from '@trestle/jobs/outbox.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import pg from 'pg'
import type { PaymentsConfig } from '../config.ts'
import type { Db, PaymentsTables } from '../database.ts'
import { deleteOldEvents } from '../webhooks/event-repository.ts'
import { takeRows } from '../webhooks/outbox.ts'
import {
  deleteOldDistributedRows,
  deleteOldEventsByMerchant,
  deleteOldRows,
  type OldRows,
  takeDistributedRows,
} from './distributed-rows.ts'
import { createTenantLookup } from './tenants.ts'

/**
 * Where the rows of a database are, and how the service adapts to this.
 * - `PLAIN`: one server has all rows.
 * - `createDistributed`: each merchant's rows are on one of several nodes (reference: Distributed databases).
 */
export interface Placement {
  readonly isDistributed: boolean
  /** Finds the merchant of an object before a query on that object. `undefined` if queries need no merchant. */
  readonly findOwner: DatabaseMode['findTenant']
  /** Whether one call of the SQL function for captures, refunds and voids may contain several merchants. */
  readonly batchScope: 'any' | 'merchant'
  readonly takeRows: (db: Db) => TakeRows
  readonly deleteOldRows: (db: Db, table: keyof PaymentsTables & string, old: OldRows) => Promise<number>
  readonly deleteOldEvents: (db: Db) => Promise<number>
  /** Whether rows have moved recently, so that processes may still write what they held back during the move. */
  readonly hasJustRebalanced: () => boolean
}

/** Asks the database where its rows are. @throws Error for a setting that a distributed database does not allow */
export async function findPlacement(config: PlacementConfig, now: () => Date): Promise<Placement> {
  const placement = await locateRows(config, now)
  const problem = placement.isDistributed ? problemOf(config) : undefined
  if (problem !== undefined) throw new Error(problem)
  return placement
}

async function locateRows({ batchScope = 'any', database }: PlacementConfig, now: () => Date): Promise<Placement> {
  const names = createNames('payments', database.namespace)
  return (await isDistributed(database, names)) ? createDistributed(now) : { ...PLAIN, batchScope }
}

/** Returns a message about the first setting that is not allowed with a distributed database. */
function problemOf({ batchScope, database }: PlacementConfig): string | undefined {
  if (batchScope === 'any') return 'the database is distributed: PAYMENTS_BATCH must be merchant, or not be set'
  if (database.standby.url === undefined) return undefined
  return 'the database is distributed: PAYMENTS_DB_READ_URL must not be set, because a standby has one node only'
}

interface FollowOptions {
  readonly config: PlacementConfig
  readonly database: Pick<Database<PaymentsTables>, 'checks' | 'names' | 'switchMode'>
  /** The connections of operators. They switch mode together with `database`. */
  readonly operators: Pick<Database<PaymentsTables>, 'switchMode'>
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn' | 'error'>
  readonly now: () => Date
}

/** The time after a move in which processes notice the move and write what they held back. */
const HELD_BACK_MS = 10_000

/**
 * Follows the rows of a database while `payments distribute` moves them. During the move the process refuses writes. After the
 * move it continues with new connections. The result always reflects the current place of the rows.
 * @param found the place of the rows at the start
 */
export function followPlacement(found: Placement, options: FollowOptions): Placement & { readonly stop: () => void } {
  const { config, database, operators, logger, now } = options
  const switchMode = (mode: DatabaseMode): void => {
    for (const each of [database, operators]) each.switchMode(mode)
  }
  let current = found
  let rebalancedAtMs = Number.NEGATIVE_INFINITY
  const onChange = async (state: DistributionState): Promise<void> => {
    if (isRebalancing(state)) {
      // The statements for distributed databases are plain SQL, so they can read both plain and distributed tables.
      switchMode({ findTenant: createDistributed(now).findOwner, isRebalancing: true })
      logger.warn('rows are moving to other servers: writes are refused until they are there')
      return
    }
    current = await locateRows(config, now)
    switchMode({ findTenant: current.findOwner, isRebalancing: false })
    rebalancedAtMs = now().getTime()
    logger.info({ distributed: current.isDistributed }, 'rows have moved, writes go on')
    const problem = current.isDistributed ? problemOf(config) : undefined
    if (problem !== undefined) logger.error(`the next start will be refused: ${problem}`)
  }
  const { stop } = followState({
    db: database.checks.withoutPlugins(),
    names: database.names,
    state: found.isDistributed ? 'distributed' : 'plain',
    onChange,
    onError: (error) => logger.warn({ err: error }, 'the place of the rows is unknown'),
  })
  return {
    get isDistributed() {
      return current.isDistributed
    },
    get findOwner() {
      return current.findOwner
    },
    get batchScope() {
      return current.batchScope
    },
    takeRows: (db) => (trx, limit, left) => current.takeRows(db)(trx, limit, left),
    deleteOldRows: (db, table, old) => current.deleteOldRows(db, table, old),
    deleteOldEvents: (db) => current.deleteOldEvents(db),
    hasJustRebalanced: () => now().getTime() - rebalancedAtMs < HELD_BACK_MS,
    stop,
  }
}

interface PlacementConfig {
  readonly batchScope: PaymentsConfig['batchScope']
  readonly database: Pick<PaymentsConfig['database'], 'url' | 'namespace' | 'standby'>
}

function isDistributed({ url }: Pick<EntryConfig, 'url'>, names: Names): Promise<boolean> {
  return askServer(url, async (client) => {
    if (!(await hasCitus(client))) return false
    const { rows } = await client.query('SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)', [
      `"${names.schema}"."${names.prefix}merchant_balances"`,
    ])
    return rows.length > 0
  })
}

/**
 * Checks the addresses by which the settings connect to a cluster. Only the coordinator has the tables of the migrator and the
 * job queue.
 * @returns an Error that names the wrong setting (the function does not throw it), or `undefined` if both addresses are right
 */
export async function findWrongEntry(config: EntryConfig): Promise<Error | undefined> {
  const { url, coordinatorUrl, namespace } = config
  if (!(await askServer(coordinatorUrl ?? url, isCoordinator))) {
    return new Error(
      coordinatorUrl === undefined
        ? 'PAYMENTS_DATABASE_URL enters by a worker of a Citus cluster: set PAYMENTS_COORDINATOR_URL to the address of its coordinator'
        : 'PAYMENTS_COORDINATOR_URL leads to a worker of a Citus cluster, not to its coordinator',
    )
  }
  if (coordinatorUrl === undefined || (await askServer(url, isCoordinator))) return undefined
  if (await isDistributed(config, createNames('payments', namespace))) return undefined
  return new Error(
    'PAYMENTS_DATABASE_URL enters by a worker of a Citus cluster, and the database is not distributed: set it to the address of the coordinator',
  )
}

type EntryConfig = Pick<PaymentsConfig['database'], 'url' | 'coordinatorUrl' | 'namespace'>

async function isCoordinator(client: pg.Client): Promise<boolean> {
  if (!(await hasCitus(client))) return true
  const { rows } = await client.query('SELECT FROM pg_dist_local_group WHERE groupid <> 0')
  return rows.length === 0
}

async function hasCitus(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`)
  return rows.length > 0
}

async function askServer<T>(url: string, question: (client: pg.Client) => Promise<T>): Promise<T> {
  const { Client = pg.Client, ...to } = overHosts(url)
  const client = new Client({ ...to, connectionTimeoutMillis: CONNECT_MS })
  client.on('error', () => {})
  await client.connect()
  try {
    return await question(client)
  } finally {
    await client.end()
  }
}

const CONNECT_MS = 5_000

/** One server has all rows. */
export const PLAIN: Placement = {
  isDistributed: false,
  findOwner: undefined,
  batchScope: 'any',
  takeRows: () => takeRows,
  deleteOldRows,
  deleteOldEvents,
  hasJustRebalanced: () => false,
}

/** Each merchant has its rows on one of several nodes. */
export function createDistributed(now: () => Date): Placement {
  return {
    isDistributed: true,
    findOwner: createTenantLookup(now),
    batchScope: 'merchant',
    takeRows: takeDistributedRows,
    deleteOldRows: deleteOldDistributedRows,
    deleteOldEvents: deleteOldEventsByMerchant,
    hasJustRebalanced: () => false,
  }
}
