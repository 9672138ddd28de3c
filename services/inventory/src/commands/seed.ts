import { openDatabase } from '@trestle/database/connect.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryConfig } from '../config.ts'
import type { InventoryTables } from '../database.ts'
import { inventoryNames } from '../deps.ts'

const COUNT_MAX = 10_000_000
const BATCH = 10_000
const BATCH_TIMEOUT_MS = 120_000

/**
 * Adds the sample products SAMPLE-00000001 to SAMPLE-<count>: always the same, whichever are missing.
 * @throws Error when `countText` is no number between 1 and 10,000,000
 */
export async function seed(config: InventoryConfig, countText: string, print: (line: string) => void): Promise<void> {
  const count = /^\d{1,8}$/.test(countText) ? Number(countText) : 0
  if (count < 1 || count > COUNT_MAX) throw new Error(`--products must be a number between 1 and ${COUNT_MAX}`)
  const database = openDatabase<InventoryTables>({
    url: config.databaseUrl,
    names: inventoryNames(config),
    applicationName: 'inventory-seed',
    poolSize: 1,
    role: config.databaseRole,
    statementTimeoutMs: BATCH_TIMEOUT_MS,
    lockTimeoutMs: BATCH_TIMEOUT_MS,
    prepared: config.databasePrepared,
    onConnectionError: () => {},
  })
  try {
    let added = 0n
    for (let first = 1; first <= count; first += BATCH) {
      added += await insertSamples(database.db, first, Math.min(count, first + BATCH - 1))
    }
    print(`added ${added} of ${count} sample products`)
  } finally {
    await database.close()
  }
}

/** Adds the sample products `first` to `last`, and returns how many were missing. */
async function insertSamples(db: Kysely<InventoryTables>, first: number, last: number): Promise<bigint> {
  const result = await sql`
    INSERT INTO ${sql.table('products')} (sku, attributes)
    SELECT 'SAMPLE-' || lpad(n::text, 8, '0'), jsonb_build_object(
      'name', 'Sample product ' || n,
      'color', (ARRAY['red', 'green', 'blue', 'black', 'white'])[1 + n % 5],
      'size', n % 1000,
      'price', to_jsonb(round(n % 10007 / 100.0, 2)),
      'tags', jsonb_build_array('sample', 'batch-' || n / 1000))
    FROM generate_series(${first}::integer, ${last}::integer) AS n
    ON CONFLICT (sku) WHERE deleted_at IS NULL DO NOTHING`.execute(db)
  return result.numAffectedRows ?? 0n
}
