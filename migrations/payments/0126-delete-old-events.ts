// Why: the hourly clean-up needed the right to delete events. With that right the service's login could also hide from a merchant
// what had just been done to it. A function deletes those alone that are no longer listed.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const deleteOldEvents: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Ids begin with their time. Answers how many were deleted: at most p_limit. Rows that somebody holds are left.
    await sql`
      CREATE FUNCTION ${names.id('delete_old_events')}(p_merchant_ids text[], p_limit int) RETURNS int
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
      DECLARE
        deleted int;
      BEGIN
        DELETE FROM ${names.id('events')} WHERE ctid = ANY (ARRAY(
          SELECT o.ctid FROM unnest(p_merchant_ids) AS m (id) CROSS JOIN LATERAL (
            SELECT e.ctid FROM ${names.id('events')} e
            WHERE e.merchant_id = m.id
              AND e.id < lpad(to_hex(floor(extract(epoch FROM now() - interval '30 days'))::bigint), 8, '0')
            LIMIT p_limit FOR UPDATE SKIP LOCKED
          ) o LIMIT p_limit
        ));
        GET DIAGNOSTICS deleted = ROW_COUNT;
        RETURN deleted;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('delete_old_events')}(text[], int)`.execute(db)
  },
})
