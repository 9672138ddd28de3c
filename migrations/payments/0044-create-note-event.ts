// Why: what happens at a merchant besides money is told by one event each, whose id is taken under the merchant's lock.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createNoteEvent: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('note_event')}(p_merchant_id text, p_type text, p_object_id text, p_data jsonb)
      RETURNS void LANGUAGE sql VOLATILE AS $$
        SELECT ${names.id('add_event')}(
          p_merchant_id, ${names.id('id_at')}(t.first, t.tag), ${names.id('created_at')}(t.first),
          p_type, p_object_id, p_data
        )
        FROM ${names.id('take_ids')}(p_merchant_id, 1) t
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('note_event')}(text, text, text, jsonb)`.execute(db)
  },
})
