// The merchant does not own an operation's money until the acquirer has accepted the operation. Every live capture, refund and
// void is open until the acquirer has answered, and payouts exclude open captures.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createOperations: MigrationSource = (names) => ({
  tables: { acquirer_operations: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createIndexes(db, names)
    await openWithWork(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TRIGGER ${names.local('outbox_operation')} ON ${names.id('outbox')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('open_operation')}()`.execute(db)
    await sql`DROP TABLE ${names.id('acquirer_operations')}`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('acquirer_operations')} (${merchantRow(names, 'acquirer_operations')},
      transaction_id text COLLATE "C" NOT NULL,
      kind text NOT NULL,
      status text NOT NULL DEFAULT 'open',
      reason text,
      answered timestamptz(3),
      CONSTRAINT ${names.local('operations_kind_ck')} CHECK (kind IN ('capture', 'refund', 'void')),
      CONSTRAINT ${names.local('operations_status_ck')} CHECK (status IN ('open', 'accepted', 'rejected', 'unanswered')),
      CONSTRAINT ${names.local('operations_answered_ck')} CHECK ((answered IS NULL) = (status = 'open'))
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('acquirer_operations')}.id IS 'that of the trail entry'`.execute(db)
}

async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE INDEX ${names.local('operations_open_ix')} ON ${names.id('acquirer_operations')} (merchant_id, id)
      WHERE status = 'open'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('operations_age_ix')} ON ${names.id('acquirer_operations')} (created, merchant_id)
      WHERE status = 'open'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('operations_rejected_ix')} ON ${names.id('acquirer_operations')}
      (merchant_id, transaction_id) WHERE status IN ('rejected', 'unanswered')`.execute(db)
}

/**
 * Opens an operation together with the work that sends it to the acquirer, so that neither exists without the other. Skips
 * transactions without an acquirer.
 */
async function openWithWork(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('open_operation')}() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    BEGIN
      INSERT INTO ${names.id('acquirer_operations')} (merchant_id, id, created, transaction_id, kind)
      SELECT e.merchant_id, e.id, e.created, e.transaction_id, e.kind
      FROM ${names.id('trail_entries')} e
      JOIN ${names.id('transactions')} t
        ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND t.acquirer_ref IS NOT NULL
      WHERE e.merchant_id = NEW.merchant_id AND e.id = NEW.id
      -- Work that enters the outbox again keeps the operation of the first time.
      ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('outbox_operation')} AFTER INSERT ON ${names.id('outbox')}
    FOR EACH ROW WHEN (NEW.kind = 'acquirer') EXECUTE FUNCTION ${names.id('open_operation')}()`.execute(db)
}
