// Who lacks stock waits while somebody else gives back what is due. It was told that nothing is due, and so refused for want of
// stock that was there a moment later.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { createExpiry } from './0018-create-expiry.ts'

export const awaitExpiry = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    // As 0018, but for the lock. What somebody else has not committed yet is still seen as due, so it is waited for; where
    // nothing is due nobody waits.
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('expire_reservations')}(p_limit int) RETURNS int
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      DECLARE
        due timestamptz := clock_timestamp();
        r ${names.id('reservations')};
        expired int := 0;
      BEGIN
        PERFORM FROM ${names.id('reservations')} v WHERE v.status = 'active' AND v.expires_at <= due LIMIT 1;
        IF NOT FOUND THEN RETURN 0; END IF;
        PERFORM pg_advisory_xact_lock(hashtextextended('${names.id('expire_reservations')}', 0));
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
    const { up, down } = createExpiry(names)
    await down?.(db)
    await up(db)
  },
})
