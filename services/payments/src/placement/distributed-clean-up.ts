import { deleteOldRows, type OldRows } from '@trestle/database/delete-old-rows.ts'
import { sql } from 'kysely'
import { type Db, type PaymentsTables, tableClasses } from '../database.ts'
import { eachMerchant } from '../merchants/each-merchant.ts'

const BATCH_MERCHANTS = 1_000
const BATCH_EVENTS = 1_000

/**
 * Deletes old rows of a distributed database, one merchant a statement. Rows that somebody holds stay until the next run. Rows of
 * reference tables are few, and lie in another place on each node, so one statement deletes them by their values.
 */
export async function deleteOldDistributedRows(
  db: Db,
  table: keyof PaymentsTables & string,
  old: OldRows,
): Promise<number> {
  const isOld = sql`${sql.ref(old.column)} < now() - ${sql.lit(old.age)}::interval`
  switch (tableClasses[table]) {
    case 'local':
      return deleteOldRows(db, table, old)
    case 'reference': {
      const { numAffectedRows = 0n } = await sql`DELETE FROM ${sql.table(table)} WHERE ${isOld}`.execute(db)
      return Number(numAffectedRows)
    }
    case 'merchant':
      return deleteByMerchant(db, table, isOld)
  }
}

/** A merchant whose old rows are all held is met again only in the next run: the merchants are read in the order of their ids. */
async function deleteByMerchant(db: Db, table: string, isOld: ReturnType<typeof sql>): Promise<number> {
  let total = 0
  for (let after = ''; ; ) {
    const { rows } = await sql<{ merchant_id: string }>`
      SELECT DISTINCT merchant_id FROM ${sql.table(table)} WHERE merchant_id > ${after} AND ${isOld}
      ORDER BY merchant_id LIMIT ${sql.lit(BATCH_MERCHANTS)}`.execute(db)
    for (const { merchant_id: merchantId } of rows) {
      const { numAffectedRows = 0n } = await sql`
        DELETE FROM ${sql.table(table)} WHERE merchant_id = ${merchantId} AND ctid = ANY (ARRAY(
          SELECT ctid FROM ${sql.table(table)} WHERE merchant_id = ${merchantId} AND ${isOld} FOR UPDATE SKIP LOCKED
        ))`.execute(db)
      total += Number(numAffectedRows)
    }
    const last = rows.at(-1)
    if (!last || rows.length < BATCH_MERCHANTS) return total
    after = last.merchant_id
  }
}

/** Deletes events of more than 30 days, on the node of each merchant. Resolves to how many were deleted. */
export async function deleteOldEventsByMerchant(db: Db): Promise<number> {
  let total = 0
  for await (const merchantId of eachMerchant(db)) {
    for (let deleted = BATCH_EVENTS; deleted === BATCH_EVENTS; total += deleted) {
      const { rows } = await sql<{ deleted: number }>`
        SELECT ${sql.table('delete_events_of')}(${merchantId}, ${sql.lit(BATCH_EVENTS)}) AS deleted`.execute(db)
      deleted = rows[0]?.deleted ?? 0
    }
  }
  return total
}
