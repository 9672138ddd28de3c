// Why: a reservation that nobody captured must not stay pending for ever; what is left of it is voided when it has expired.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** Where the ids of an instant begin. The clock of a test merchant may show a year that no id can hold: the last one then. */
async function createFirstId(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('first_id')}(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
      SELECT ${names.id('id_at')}(
        least(greatest(floor(extract(epoch FROM p_at) * 1000)::bigint, 0), 4294967295999) * 1048576, ''
      )
    $$`.execute(db)
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$
      SELECT coalesce(sum(l.balance), 0)::bigint FROM ${names.id('lines')} l
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.id >= ${names.id('first_id')}(p_since)
    $$`.execute(db)
}

/** The void of all that is pending. */
async function createVoidMovement(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('void_movement')}(t ${names.id('transactions')}) RETURNS ${names.id('movement')}
    LANGUAGE sql STABLE AS $$
      SELECT jsonb_populate_record(NULL::${names.id('movement')}, to_jsonb(t) || jsonb_build_object(
        'kind', 'void', 'transaction_id', t.id, 'seq', t.trail_length + 1, 'amount', t.pending,
        'gross', 0, 'fee_flat', 0, 'fee_rate', 0, 'reference', NULL, 'pending', 0, 'voided', t.voided + t.pending
      ))
    $$`.execute(db)
}

export const createExpiry: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // What is pending only shrinks, so a transaction that was looked at once is never looked at again.
    await sql`
      ALTER TABLE ${names.id('merchant_balances')} ADD COLUMN expired_id text COLLATE "C" NOT NULL DEFAULT ''`.execute(
      db,
    )
    await sql`
      COMMENT ON COLUMN ${names.id('merchant_balances')}.expired_id IS 'transactions up to it have nothing pending'
    `.execute(db)
    await createFirstId(db, names)
    await createVoidMovement(db, names)
    // Voids what is left of reservations older than so many days by the merchant's clock, of at most p_limit transactions.
    // Answers how many it has looked at: p_limit of them means that there may be more.
    await sql`
      CREATE FUNCTION ${names.id('expire_authorizations')}(p_merchant_id text, p_days int, p_limit int)
      RETURNS TABLE (looked_at int, voided int) LANGUAGE plpgsql VOLATILE AS $$
      DECLARE
        until_id text := ${names.id('first_id')}(
          ${names.id('merchant_now')}(p_merchant_id) - p_days * interval '1 day'
        );
        since_id text := (SELECT b.expired_id FROM ${names.id('merchant_balances')} b
          WHERE b.merchant_id = p_merchant_id);
        held ${names.id('transactions')}[];
        movements ${names.id('movement')}[];
      BEGIN
        SELECT array_agg(t ORDER BY t.id) INTO held FROM (
          SELECT * FROM ${names.id('transactions')} t
          WHERE t.merchant_id = p_merchant_id AND t.id > since_id AND t.id < until_id
          ORDER BY t.id LIMIT p_limit FOR UPDATE
        ) t;
        looked_at := coalesce(cardinality(held), 0);
        voided := 0;
        IF looked_at > 0 THEN
          SELECT array_agg(${names.id('void_movement')}(t)) INTO movements FROM unnest(held) t
            WHERE t.pending > 0 AND t.trail_length < 10000;
          IF movements IS NOT NULL THEN
            PERFORM ${names.id('post')}(movements);
            UPDATE ${names.id('transactions')} t
              SET pending = v.pending, voided = v.voided, trail_length = v.seq
              FROM unnest(movements) v WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id;
            voided := cardinality(movements);
          END IF;
          UPDATE ${names.id('merchant_balances')} b SET expired_id = greatest(b.expired_id, (held[looked_at]).id)
            WHERE b.merchant_id = p_merchant_id;
        END IF;
        RETURN NEXT;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('expire_authorizations')}(text, int, int)`.execute(db)
    await sql`DROP FUNCTION ${names.id('void_movement')}(${names.id('transactions')})`.execute(db)
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
      LANGUAGE sql STABLE AS $$
        SELECT coalesce(sum(l.balance), 0)::bigint FROM ${names.id('lines')} l
        WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture'
          AND l.id >= ${names.id('id_at')}(
            greatest(floor(extract(epoch FROM p_since) * 1000)::bigint * 1048576, 0), '00000000'
          )
      $$`.execute(db)
    await sql`DROP FUNCTION ${names.id('first_id')}(timestamptz)`.execute(db)
    await sql`ALTER TABLE ${names.id('merchant_balances')} DROP COLUMN expired_id`.execute(db)
  },
})
