// Why: a bank file that has to be written again must be the same message, or the bank pays twice.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const keepPayoutBatches: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('payout_batches')} (
        id text COLLATE "C" NOT NULL,
        created timestamptz(3) NOT NULL,
        debtor jsonb NOT NULL,
        payouts jsonb NOT NULL,
        CONSTRAINT ${names.local('payout_batches_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('payout_batches_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
      )`.execute(db)
    await sql`
      COMMENT ON COLUMN ${names.id('payout_batches')}.payouts IS 'ids, merchants and their names as the file has them'
    `.execute(db)
    await sql`
      CREATE TRIGGER ${names.local('payout_batches_append_only')} BEFORE UPDATE OR DELETE OR TRUNCATE
      ON ${names.id('payout_batches')} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('payout_batches')}`.execute(db)
  },
})
