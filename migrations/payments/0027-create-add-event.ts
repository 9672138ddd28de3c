// Why: an event, and the work that remains after a call, enter through one function each, in the transaction of their cause.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAddEvent: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // p_id: that of the operation or event that the work is for, so that nothing enters twice.
    await sql`
      CREATE FUNCTION ${names.id('enqueue')}(p_merchant_id text, p_id text, p_kind text, p_payload jsonb)
      RETURNS void LANGUAGE sql VOLATILE AS $$
        INSERT INTO ${names.id('outbox')} (merchant_id, id, kind, payload, created)
        VALUES (p_merchant_id, p_id, p_kind, p_payload, date_trunc('milliseconds', clock_timestamp()))
        ON CONFLICT DO NOTHING
      $$`.execute(db)
    // p_id and p_created: taken under the merchant's lock. p_data: NULL where the object can be shown from its row as it is.
    // Work remains only for a merchant that has webhooks.
    await sql`
      CREATE FUNCTION ${names.id('add_event')}(
        p_merchant_id text, p_id text, p_created timestamptz, p_type text, p_object_id text, p_data jsonb
      ) RETURNS void LANGUAGE sql VOLATILE AS $$
        INSERT INTO ${names.id('events')} (
          merchant_id, id, created, type, object_id, pending, captured, refunded, voided, disputed, trail_length, data
        )
        SELECT p_merchant_id, p_id, p_created, p_type, p_object_id,
          t.pending, t.captured, t.refunded, t.voided, t.disputed, t.trail_length, p_data
        FROM (SELECT) one
        LEFT JOIN ${names.id('transactions')} t ON t.merchant_id = p_merchant_id AND t.id = p_object_id;
        SELECT ${names.id('enqueue')}(p_merchant_id, p_id, 'event', '{}')
        WHERE EXISTS (SELECT FROM ${names.id('webhooks')} w WHERE w.merchant_id = p_merchant_id AND w.disabled IS NULL)
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('add_event')}(text, text, timestamptz, text, text, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('enqueue')}(text, text, text, jsonb)`.execute(db)
  },
})
