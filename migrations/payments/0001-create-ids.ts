// Why: ids carry the database's clock and their merchant's tag, so that one lookup finds the merchant and the row.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createIds: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE SEQUENCE ${names.id('id_counter')} MINVALUE 0 MAXVALUE 1048575 START 0 CYCLE`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('random_tag')}() RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT right(gen_random_uuid()::text, 8)
      $$`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('new_id')}(p_tag text, OUT id text, OUT created timestamptz)
      LANGUAGE plpgsql VOLATILE AS $$
      BEGIN
        created := date_trunc('milliseconds', clock_timestamp());
        id := lpad(to_hex(floor(extract(epoch FROM created))::bigint), 8, '0')
          || lpad(to_hex(extract(milliseconds FROM created)::int % 1000), 3, '0')
          || lpad(to_hex(nextval(${sql.lit(names.schema)} || '.' || ${sql.lit(`${names.prefix}id_counter`)})), 5, '0')
          || p_tag;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('new_id')}(text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('random_tag')}()`.execute(db)
    await sql`DROP SEQUENCE ${names.id('id_counter')}`.execute(db)
  },
})
