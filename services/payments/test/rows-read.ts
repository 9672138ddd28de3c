import { type Pools, transactionPools } from '@trestle/database/pools.ts'
import { distributed } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import type { Trx } from '../src/database.ts'
import type { TestPayments } from './payments-app.ts'

/** The rows that a test has read, and the number of rows of the table that were looked at for them. */
export interface RowsRead<T> {
  readonly found: T
  readonly rows: number
}

/** Reads in a transaction, with the plans of the read pool, and counts the rows of a table that this looks at. */
export function countRowsRead<T>(
  { owner }: Pick<TestPayments, 'owner'>,
  table: string,
  read: (pools: Pools, trx: Trx) => Promise<T>,
): Promise<RowsRead<T>> {
  return owner.db.transaction().execute(async (trx) => {
    // What other processes look at for a statement is not counted here.
    await sql`SET LOCAL max_parallel_workers_per_gather = 0`.execute(trx)
    if (!distributed) {
      await sql`SET LOCAL plan_cache_mode = force_generic_plan`.execute(trx)
      await sql`SET LOCAL enable_seqscan = off`.execute(trx)
    }
    const count = async () => {
      const { rows } = await sql<{ read: number }>`
        SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
        WHERE schemaname = 'payments' AND relname = ${table}`.execute(trx)
      return rows[0]?.read ?? 0
    }
    const before = await count()
    const found = await read(transactionPools(trx), trx)
    return { found, rows: (await count()) - before }
  })
}
