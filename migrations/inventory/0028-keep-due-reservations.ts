// A reservation that is due is over, whether or not somebody has swept it: it is not released any more, as it is not committed.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const keepDueReservations = (names: Names): Migration => ({
  up: (db: Kysely<unknown>) =>
    replaceRelease(
      db,
      names,
      sql`IF r.status = 'active' AND r.expires_at <= clock_timestamp() THEN RETURN 'expired'; END IF;`,
    ),
  down: (db: Kysely<unknown>) => replaceRelease(db, names, sql``),
})

/** Answers what the reservation was before: `active` means that it was released now. */
async function replaceRelease(db: Kysely<unknown>, names: Names, refuseDue: RawBuilder<unknown>): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('release_reservation')}(p_actor text, p_id bigint) RETURNS text
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      r ${names.id('reservations')};
    BEGIN
      SELECT * INTO r FROM ${names.id('reservations')} v WHERE v.id = p_id FOR UPDATE;
      ${refuseDue}
      IF r.status = 'active' THEN PERFORM ${names.id('give_back')}(r, 'release', 'released', p_actor); END IF;
      RETURN coalesce(r.status, 'not-found');
    END $$`.execute(db)
}
