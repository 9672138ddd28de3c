// Why: a capture of this very millisecond counted as too young for a payout that waits for nothing. Younger than the delay is
// what is later than the moment that the delay goes back to; ids carry whole milliseconds.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

function replaceNotYetDue(db: Kysely<unknown>, names: Names, from: ReturnType<typeof sql>): Promise<unknown> {
  return sql`
    CREATE OR REPLACE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$
      SELECT coalesce(sum(l.balance), 0)::bigint FROM ${names.id('lines')} l
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.id >= ${names.id('first_id')}(${from})
    $$`.execute(db)
}

export const countOnlyTheYounger: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await replaceNotYetDue(db, names, sql`p_since + interval '1 millisecond'`)
  },
  async down(db: Kysely<unknown>) {
    await replaceNotYetDue(db, names, sql`p_since`)
  },
})
