import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** Adds copies of an open dispute below its merchant, without what they would take from its transaction. */
export async function copyDispute({ owner }: Pick<TestPayments, 'owner'>, id: string, copies: number): Promise<void> {
  await sql`INSERT INTO payments.disputes SELECT r.*
    FROM payments.disputes d, generate_series(1, ${copies}::int) n, jsonb_populate_record(d, jsonb_build_object(
      'id', lpad(to_hex(n), 16, '0') || right(d.id, 8)
    )) r WHERE d.id = ${id}`.execute(owner.db)
}
