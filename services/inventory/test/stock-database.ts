import { createHash } from 'node:crypto'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createTemporaryDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import type { InventoryTables } from '../src/database.ts'
import type { Caller } from '../src/idempotency/idempotent-request.ts'
import { inventoryNames, migrateOptions } from '../src/migrations.ts'

const ROLE = 'inventory_service'

/** The functions of the database alone, as the restricted role calls them. */
export interface StockDatabase extends Pick<Database<InventoryTables>, 'db' | 'pools' | 'names'> {
  /** Reads rows with all rights. Integers of 64 bits become numbers. */
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** The URL for further connections, with all rights. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** A migrated database of its own, opened with the role of the service. */
export async function openStockDatabase({ poolSize = 16 } = {}): Promise<StockDatabase> {
  const names = inventoryNames({ database: { namespace: '' } })
  const temporary = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions({ database: { migrationUrl: url, namespace: '', role: ROLE } })),
  })
  const database = openDatabase<InventoryTables>({
    url: temporary.url,
    names,
    applicationName: 'test',
    poolSize,
    role: ROLE,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 10_000,
    prepared,
    onConnectionError: () => {},
  })
  const pool = new pg.Pool({ connectionString: temporary.url, max: 1, types: { getTypeParser: readNumbers } })
  pool.on('error', () => {})
  return {
    ...{ db: database.db, pools: database.pools, names },
    url: temporary.url,
    query: async (text, values) => (await pool.query(text, values)).rows,
    close: async () => {
      await Promise.all([database.close(), pool.end()])
      await temporary.drop()
    },
  }
}

const INT8 = 20
const readNumbers: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)

/** A caller without an Idempotency-Key. */
export const NOBODY: Caller = { actor: null, idempotentRequest: undefined }

/** A request with a key; `content` is its body. */
export function withKey(key: string, content: unknown, actor: string | null = null): Caller {
  const fingerprint = createHash('sha256').update(JSON.stringify(content)).digest()
  return { actor, idempotentRequest: { key, path: '/test', fingerprint } }
}

/** Returns their ids. */
export async function addProducts({ query }: Pick<StockDatabase, 'query'>, count: number): Promise<number[]> {
  const rows = await query(
    `INSERT INTO inventory.products (sku, attributes)
     SELECT 'P' || gen_random_uuid(), '{}' FROM generate_series(1, $1::int) RETURNING id`,
    [count],
  )
  return rows.map(({ id }) => Number(id))
}

/** Adds locations that take stock. Returns their ids. */
export async function addLocations({ query }: Pick<StockDatabase, 'query'>, count: number): Promise<number[]> {
  const rows = await query(
    `INSERT INTO inventory.locations (code, name)
     SELECT left('L' || gen_random_uuid(), 20), 'Shelf' FROM generate_series(1, $1::int) RETURNING id`,
    [count],
  )
  return rows.map(({ id }) => Number(id))
}
