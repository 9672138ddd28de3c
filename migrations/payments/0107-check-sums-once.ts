import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// Why: the check at commit looked once for each journal, by a plan that was as good as the statistics of that day. The end of
// the INSERT has all new entries at hand: one look for a whole batch, and none at the table. It is stricter, too: each
// INSERT sums to zero, and so does what they add up to, since no row is ever changed.

async function createTrigger(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('check_zero_sum')}() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      wrong text;
    BEGIN
      SELECT e.journal_id INTO wrong FROM added e
        GROUP BY e.merchant_id, e.journal_id, e.currency, e.test HAVING sum(e.amount) <> 0 LIMIT 1;
      IF FOUND THEN RAISE EXCEPTION 'journal % does not sum to zero', wrong; END IF;
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('entries_zero_sum_ck')} AFTER INSERT ON ${names.id('entries')}
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('check_zero_sum')}()`.execute(db)
}

/** As 0021 made it. */
async function createDeferredTrigger(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('check_zero_sum')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM ${names.id('entries')} e
        WHERE e.merchant_id = NEW.merchant_id AND e.journal_id = NEW.journal_id
        GROUP BY e.currency, e.test HAVING sum(e.amount) <> 0;
      IF FOUND THEN RAISE EXCEPTION 'journal % does not sum to zero', NEW.journal_id; END IF;
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE CONSTRAINT TRIGGER ${names.local('entries_zero_sum_ck')} AFTER INSERT ON ${names.id('entries')}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.seq = 1)
    EXECUTE FUNCTION ${names.id('check_zero_sum')}()`.execute(db)
}

async function dropTrigger(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TRIGGER ${names.local('entries_zero_sum_ck')} ON ${names.id('entries')}`.execute(db)
}

export const checkSumsOnce: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await dropTrigger(db, names)
    await createTrigger(db, names)
  },
  async down(db: Kysely<unknown>) {
    await dropTrigger(db, names)
    await createDeferredTrigger(db, names)
  },
})
