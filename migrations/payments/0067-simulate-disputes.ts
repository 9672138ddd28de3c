// Why: the card of the simulator that is disputed at its first capture must tell so whoever captures, and cost nobody else.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const simulateDisputes: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      ALTER TABLE ${names.id('transactions')} ADD COLUMN disputed_at_capture boolean NOT NULL DEFAULT false`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('mark_disputed')}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.disputed_at_capture := EXISTS (
          SELECT FROM ${names.id('instruments')} i
          WHERE i.merchant_id = NEW.merchant_id AND i.id = NEW.instrument_id AND (i.scenario ->> 'disputed')::boolean
        );
        RETURN NEW;
      END $$`.execute(db)
    await sql`
      CREATE TRIGGER ${names.local('transactions_mark')} BEFORE INSERT ON ${names.id('transactions')}
      FOR EACH ROW WHEN (NEW.test AND NEW.successful) EXECUTE FUNCTION ${names.id('mark_disputed')}()`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('ask_for_dispute')}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM ${names.id('enqueue')}(NEW.merchant_id, NEW.id, 'simulated_dispute', '{}');
        RETURN NULL;
      END $$`.execute(db)
    await sql`
      CREATE TRIGGER ${names.local('transactions_dispute')} AFTER UPDATE ON ${names.id('transactions')}
      FOR EACH ROW WHEN (NEW.disputed_at_capture AND OLD.captured = 0 AND NEW.captured > 0)
      EXECUTE FUNCTION ${names.id('ask_for_dispute')}()`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TRIGGER ${names.local('transactions_dispute')} ON ${names.id('transactions')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('ask_for_dispute')}()`.execute(db)
    await sql`DROP TRIGGER ${names.local('transactions_mark')} ON ${names.id('transactions')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('mark_disputed')}()`.execute(db)
    await sql`ALTER TABLE ${names.id('transactions')} DROP COLUMN disputed_at_capture`.execute(db)
  },
})
