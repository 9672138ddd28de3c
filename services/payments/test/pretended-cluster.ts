import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/**
 * Gives a database of plain PostgreSQL what the catalogue of a distributed database has, as far as a process reads it. A database
 * that is distributed stays as it is.
 */
export async function pretendDistributed({ owner }: Pick<TestPayments, 'owner'>): Promise<void> {
  await owner.db.transaction().execute(async (trx) => {
    const { rows } = await sql`SELECT FROM pg_extension WHERE extname = 'citus'`.execute(trx)
    if (rows.length > 0) return
    await sql`SET LOCAL allow_system_table_mods = on`.execute(trx)
    await sql`
      INSERT INTO pg_extension SELECT max(oid::bigint + 1)::oid, 'citus', max(extowner::bigint)::oid,
        'public'::regnamespace, false, '13.2-1' FROM pg_extension`.execute(trx)
    await sql`
      CREATE TABLE public.pg_dist_partition AS SELECT 'payments.merchant_balances'::regclass AS logicalrelid`.execute(
      trx,
    )
  })
}

/** Takes back what `pretendDistributed` has done, for tests of plain PostgreSQL alone. */
export async function pretendPlain({ owner }: Pick<TestPayments, 'owner'>): Promise<void> {
  await owner.db.transaction().execute(async (trx) => {
    await sql`SET LOCAL allow_system_table_mods = on`.execute(trx)
    await sql`DELETE FROM pg_extension WHERE extname = 'citus'`.execute(trx)
    await sql`DROP TABLE IF EXISTS public.pg_dist_partition`.execute(trx)
  })
}
