import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Ids of sessions, audit entries and one-time tokens are ordered by time, so that clean-up walks the primary key and
// inserts stay at the right edge of it. PostgreSQL has a function for this from version 18 on; 15 is supported.
// The bits: 48 of milliseconds, then those of a random UUID v4, whose version nibble 4 becomes 7 by setting two bits.
export const createUuidV7: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('uuid_v7')}() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
        SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(
          int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('uuid_v7')}()`.execute(db)
  },
})
