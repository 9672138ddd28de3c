// Why: below a merchant ids must become visible in rising order, or a reader that pages forward would miss a late commit.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// An id is a number, milliseconds · 2^20 + counter, in hexadecimal digits, and a tag. Whoever holds a merchant's balance row
// takes the next number: that of the clock, or the one after the merchant's last, where the clock stands still or goes back.
export const createRisingIds: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('id_number')}(p_id text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT (('x' || substr(p_id, 1, 8))::bit(32)::bigint * 1000 + ('x' || substr(p_id, 9, 3))::bit(12)::bigint)
          * 1048576 + ('x' || substr(p_id, 12, 5))::bit(20)::bigint
      $$`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('id_at')}(p_number bigint, p_tag text) RETURNS text
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT lpad(to_hex(p_number / 1048576000), 8, '0') || lpad(to_hex(p_number / 1048576 % 1000), 3, '0')
          || lpad(to_hex(p_number % 1048576), 5, '0') || p_tag
      $$`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('created_at')}(p_number bigint) RETURNS timestamptz
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT to_timestamp((p_number / 1048576)::float8 / 1000)
      $$`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('next_number')}(p_last_id text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
        SELECT greatest(
          floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1048576
            + nextval(${sql.lit(names.schema)} || '.' || ${sql.lit(`${names.prefix}id_counter`)}),
          ${names.id('id_number')}(p_last_id) + 1
        )
      $$`.execute(db)
    // Takes p_count ids of a merchant: id_at(first, tag), id_at(first + 1, tag), … Locks the balance row until the commit.
    // The tag is that of the last id, which never loses it.
    await sql`
      CREATE FUNCTION ${names.id('take_ids')}(p_merchant_id text, p_count int, OUT first bigint, OUT tag text)
      LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      BEGIN
        SELECT ${names.id('next_number')}(b.last_id), right(b.last_id, 8) INTO STRICT first, tag
          FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
        UPDATE ${names.id('merchant_balances')} b SET last_id = ${names.id('id_at')}(first + p_count - 1, tag)
          WHERE b.merchant_id = p_merchant_id;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('take_ids')}(text, int)`.execute(db)
    await sql`DROP FUNCTION ${names.id('next_number')}(text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('created_at')}(bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('id_at')}(bigint, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('id_number')}(text)`.execute(db)
  },
})
