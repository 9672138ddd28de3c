import type { DatabaseConfig } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import type { TakeRows } from '@trestle/jobs/outbox.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import pg from 'pg'
import type { PaymentsConfig } from '../config.ts'
import type { Db, PaymentsTables } from '../database.ts'
import { deleteOldEvents } from '../webhooks/event-repository.ts'
import { takeRows } from '../webhooks/outbox.ts'
import { deleteOldRows, type OldRows } from './delete-old-rows.ts'
import { deleteOldDistributedRows, deleteOldEventsByMerchant, takeDistributedRows } from './distributed-rows.ts'
import { createOwners } from './owners.ts'

/**
 * Where the rows of a database are, and what the service does differently because of it. `PLAIN`: all of them on one server.
 * `createDistributed`: those of a merchant on one of several nodes (reference: Distributed databases).
 */
export interface Placement {
  readonly isDistributed: boolean
  /** Finds the merchant of an object before a query on it. Undefined: no query needs it. */
  readonly findOwner: DatabaseConfig['findOwner']
  /** What one call of the SQL function for captures, refunds and voids may contain. */
  readonly batchScope: 'any' | 'merchant'
  readonly takeRows: (db: Db) => TakeRows
  readonly deleteOldRows: (db: Db, table: keyof PaymentsTables & string, old: OldRows) => Promise<number>
  readonly deleteOldEvents: (db: Db) => Promise<number>
}

/**
 * Asks the database where its rows are.
 * @throws Error when a setting does not suit a distributed database, or when the database does not answer
 */
export async function findPlacement(config: PlacementConfig, now: () => Date): Promise<Placement> {
  const { batchScope = 'any', database } = config
  if (!(await isDistributed(database.url, createNames('payments', database.namespace)))) return { ...PLAIN, batchScope }
  if (config.batchScope === 'any') {
    throw new Error('the database is distributed: PAYMENTS_BATCH must be merchant, or not be set')
  }
  if (database.standby.url !== undefined) {
    throw new Error(
      'the database is distributed: PAYMENTS_DB_READ_URL must not be set, because a standby has one node only',
    )
  }
  return createDistributed(now)
}

interface PlacementConfig {
  readonly batchScope: PaymentsConfig['batchScope']
  readonly database: Pick<PaymentsConfig['database'], 'url' | 'namespace' | 'standby'>
}

async function isDistributed(url: string, names: Names): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows: catalogues } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`)
    if (catalogues.length === 0) return false
    const { rows } = await client.query('SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)', [
      `"${names.schema}"."${names.prefix}merchant_balances"`,
    ])
    return rows.length > 0
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
}

/** Each merchant has its rows on one of several nodes. */
export function createDistributed(now: () => Date): Placement {
  return {
    isDistributed: true,
    findOwner: createOwners(now),
    batchScope: 'merchant',
    takeRows: takeDistributedRows,
    deleteOldRows: deleteOldDistributedRows,
    deleteOldEvents: deleteOldEventsByMerchant,
  }
}
