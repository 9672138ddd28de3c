import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

const BATCH = 1_000

/**
 * Deletes apps that look after no merchant and whose keys were not used for so many days, or never. An app that somebody makes a
 * member meanwhile holds its row, and is left. Answers how many there were.
 */
export async function deleteUnusedApps(db: Kysely<PaymentsTables>, days: number): Promise<number> {
  let total = 0
  for (;;) {
    const { seen, deleted } = await deleteBatch(db, days)
    total += deleted
    if (seen < BATCH || deleted === 0) return total
  }
}

async function deleteBatch(db: Kysely<PaymentsTables>, days: number) {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a
      WHERE a.created < now() - make_interval(days => ${days}::int) AND ${isFree()} AND NOT EXISTS (
        SELECT FROM ${sql.table('app_keys')} k
        WHERE k.app_id = a.id AND greatest(k.created, k.last_used) >= now() - make_interval(days => ${days}::int)
      ) LIMIT ${sql.lit(BATCH)} FOR UPDATE SKIP LOCKED`.execute(trx)
    // Whoever made one a member before it was locked has committed by now.
    const ids = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a WHERE a.id = ANY (${rows.map(({ id }) => id)}::text[]) AND ${isFree()}`
      .execute(trx)
      .then((free) => free.rows.map(({ id }) => id))
    await sql`DELETE FROM ${sql.table('app_keys')} WHERE app_id = ANY (${ids}::text[])`.execute(trx)
    await sql`DELETE FROM ${sql.table('apps')} WHERE id = ANY (${ids}::text[])`.execute(trx)
    return { seen: rows.length, deleted: ids.length }
  })
}

function isFree() {
  return sql`NOT EXISTS (SELECT FROM ${sql.table('merchant_apps')} m WHERE m.app_id = a.id)`
}
