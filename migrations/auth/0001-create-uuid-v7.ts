// Ids of sessions, audit entries and one-time tokens are ordered by time. Clean-up scans the primary key, and inserts go to its
// right edge. PostgreSQL has a function for such ids from version 18 on, but the service supports 15.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createUuidV7: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // 48 bits of milliseconds, then the bits of a random UUID v4. Setting two bits changes its version from 4 to 7.
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
