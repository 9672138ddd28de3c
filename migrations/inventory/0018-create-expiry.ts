// Expiry: stock that was promised until a time and not taken by then is for others again.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createExpiry = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    // Expires at most p_limit reservations that are due, answers how many: p_limit of them means that there may be more. One
    // process at a time looks; a reservation that somebody is at is left to the next turn. Levels are changed in the order in
    // which movements lock them.
    await sql`
      CREATE FUNCTION ${names.id('expire_reservations')}(p_limit int) RETURNS int
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      DECLARE
        due timestamptz := clock_timestamp();
        r ${names.id('reservations')};
        expired int := 0;
      BEGIN
        IF NOT pg_try_advisory_xact_lock(hashtextextended('${names.id('expire_reservations')}', 0)) THEN RETURN 0; END IF;
        FOR r IN
          SELECT * FROM (
            SELECT * FROM ${names.id('reservations')} v
            WHERE v.status = 'active' AND v.expires_at <= due
            ORDER BY v.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
          ) v ORDER BY v.product_id, v.location_id, v.id
        LOOP
          PERFORM ${names.id('give_back')}(r, 'expire', 'expired', NULL);
          expired := expired + 1;
        END LOOP;
        RETURN expired;
      END $$`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('expire_reservations')}(int)`.execute(db)
  },
})
