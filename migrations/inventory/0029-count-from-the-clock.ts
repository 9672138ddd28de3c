// A reservation lasts from the time of the clock on. It lasted from the time of its level on, which never goes back: after a clock
// that ran ahead for a moment, reservations lasted longer by as much.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { ANSWER, answeredCall } from './answered-call.ts'

export const countFromTheClock = (names: Names): Migration => ({
  up: (db: Kysely<unknown>) => replaceReserve(db, names, sql`least(m.created_at, clock_timestamp())`),
  down: (db: Kysely<unknown>) => replaceReserve(db, names, sql`m.created_at`),
})

/** The level is changed first: where that is refused nothing else has been done. */
async function replaceReserve(db: Kysely<unknown>, names: Names, since: RawBuilder<unknown>): Promise<void> {
  const call = answeredCall(names, {
    status: 201,
    declare: sql`
        m ${names.id('movements')};
        r ${names.id('reservations')};`,
    work: sql`
        m := ${names.id('book')}(ROW(NULL, p_product_id, p_location_id, 'reserve', 0, p_quantity, NULL, NULL,
          NULL, p_reference, NULL, nextval('${names.id('reservations_id_seq')}'), p_caller.actor, NULL
        )::${names.id('movements')});
        INSERT INTO ${names.id('reservations')} AS made (
            id, product_id, location_id, quantity, remaining, reference, expires_at, created_at
          ) OVERRIDING SYSTEM VALUE
          VALUES (m.reservation_id, p_product_id, p_location_id, p_quantity, p_quantity, p_reference,
            ${since} + p_seconds * interval '1 second', m.created_at)
          RETURNING made.* INTO r;
        answer := ${names.id('reservation_json')}(r);`,
  })
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('reserve')}(
      p_caller ${names.id('caller')}, p_product_id bigint, p_location_id bigint, p_quantity bigint,
      p_seconds int, p_reference text
    ) RETURNS ${ANSWER}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    ${call} $$`.execute(db)
}
