import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'

const [levels, movements, reservations] = ['stock_levels', 'movements', 'reservations'].map((name) => sql.table(name))

/** A query for each invariant of stock, which finds the rows that break it (reference: Stock invariants). */
const FAULTS: Readonly<Record<string, RawBuilder<unknown>>> = {
  'levels that are not the sum of their movements': sql`
    SELECT product_id, location_id FROM ${levels} l FULL JOIN (
      SELECT product_id, location_id, sum(on_hand_delta) AS on_hand, sum(reserved_delta) AS reserved
      FROM ${movements} GROUP BY 1, 2
    ) m USING (product_id, location_id)
    WHERE (coalesce(l.on_hand, 0), coalesce(l.reserved, 0)) <> (coalesce(m.on_hand, 0), coalesce(m.reserved, 0))`,
  'levels below zero, or with more reserved than there is': sql`
    SELECT product_id, location_id FROM ${levels} WHERE on_hand < 0 OR reserved < 0 OR reserved > on_hand`,
  'levels that have not reserved what reservations hold': sql`
    SELECT product_id, location_id FROM ${levels} l FULL JOIN (
      SELECT product_id, location_id, sum(remaining) AS remaining FROM ${reservations} GROUP BY 1, 2
    ) r USING (product_id, location_id)
    WHERE coalesce(l.reserved, 0) <> coalesce(r.remaining, 0)`,
  'movements that do not go on from the one before': sql`
    SELECT id FROM (
      SELECT m.*,
        lag(on_hand_after, 1, 0::bigint) OVER level AS on_hand_before,
        lag(reserved_after, 1, 0::bigint) OVER level AS reserved_before,
        lag(created_at) OVER level AS before
      FROM ${movements} m WINDOW level AS (PARTITION BY product_id, location_id ORDER BY id)
    ) m WHERE on_hand_after <> on_hand_before + on_hand_delta OR reserved_after <> reserved_before + reserved_delta
      OR created_at <= before`,
  'transfers that do not add up': sql`
    SELECT transfer_id FROM ${movements} WHERE transfer_id IS NOT NULL
    GROUP BY transfer_id HAVING sum(on_hand_delta) <> 0 OR count(*) <> 2 OR min(id) <> transfer_id`,
  'reservations that are not what their movements say': sql`
    SELECT r.id FROM ${reservations} r LEFT JOIN ${movements} m ON m.reservation_id = r.id
    GROUP BY r.id HAVING r.remaining IS DISTINCT FROM sum(m.reserved_delta)
      OR r.quantity IS DISTINCT FROM sum(m.reserved_delta) FILTER (WHERE m.type = 'reserve')`,
}

/**
 * What is wrong with the stock, in words; nothing when every invariant holds. Reads the whole ledger in one snapshot, so that
 * it can run beside movements.
 */
export async function findStockFaults(db: Kysely<InventoryTables>): Promise<readonly string[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`SET LOCAL statement_timeout = 0`.execute(trx)
      const faults: string[] = []
      for (const [fault, rows] of Object.entries(FAULTS)) {
        const { rows: counted } = await sql<{ count: bigint }>`SELECT count(*) FROM (${rows}) f`.execute(trx)
        const count = counted[0]?.count ?? 0n
        if (count > 0n) faults.push(`${count} ${fault}`)
      }
      return faults
    })
}
