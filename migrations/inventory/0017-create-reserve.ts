// Reservations as requests have them: one that takes stock, one that ships what is reserved, one that gives it back. The row
// of a reservation is locked before its level, here and in 0018.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { ANSWER, answeredCall } from './answered-call.ts'

export const createReserve = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await createReserveFunction(db, names)
    await createCommit(db, names)
    await createGiveBack(db, names)
    await createRelease(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('release_reservation')}(text, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('give_back')}(${names.id('reservations')}, text, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('commit_reservation')}(${names.id('caller')}, bigint, bigint)`.execute(db)
    await sql`
      DROP FUNCTION ${names.id('reserve')}(${names.id('caller')}, bigint, bigint, bigint, int, text)`.execute(db)
  },
})

/** The level is changed first: where that is refused nothing else has been done. */
async function createReserveFunction(db: Kysely<unknown>, names: Names): Promise<void> {
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
            m.created_at + p_seconds * interval '1 second', m.created_at)
          RETURNING made.* INTO r;
        answer := ${names.id('reservation_json')}(r);`,
  })
  await sql`
    CREATE FUNCTION ${names.id('reserve')}(
      p_caller ${names.id('caller')}, p_product_id bigint, p_location_id bigint, p_quantity bigint,
      p_seconds int, p_reference text
    ) RETURNS ${ANSWER}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    ${call} $$`.execute(db)
}

/** A reservation that is due never commits, whether or not somebody has swept it. */
async function createCommit(db: Kysely<unknown>, names: Names): Promise<void> {
  const call = answeredCall(names, {
    status: 200,
    declare: sql`
        r ${names.id('reservations')};
        taken bigint;`,
    work: sql`
        SELECT * INTO r FROM ${names.id('reservations')} v WHERE v.id = p_id FOR UPDATE;
        IF NOT FOUND THEN
          PERFORM ${names.id('refuse')}('not-found', NULL);
        ELSIF r.status <> 'active' THEN
          PERFORM ${names.id('refuse')}(r.status, NULL);
        ELSIF r.expires_at <= clock_timestamp() THEN
          PERFORM ${names.id('refuse')}('expired', NULL);
        ELSIF p_quantity > r.remaining THEN
          PERFORM ${names.id('refuse')}('above-remaining', r.remaining);
        END IF;
        taken := coalesce(p_quantity, r.remaining);
        PERFORM ${names.id('book')}(ROW(NULL, r.product_id, r.location_id, 'ship', -taken, -taken, NULL, NULL,
          NULL, r.reference, NULL, r.id, p_caller.actor, NULL)::${names.id('movements')});
        UPDATE ${names.id('reservations')} v
          SET remaining = v.remaining - taken, status = CASE v.remaining WHEN taken THEN 'committed' ELSE v.status END
          WHERE v.id = r.id RETURNING v.* INTO r;
        answer := ${names.id('reservation_json')}(r);`,
  })
  await sql`
    CREATE FUNCTION ${names.id('commit_reservation')}(p_caller ${names.id('caller')}, p_id bigint, p_quantity bigint)
    RETURNS ${ANSWER}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    ${call} $$`.execute(db)
}

/** Gives back what remains of a reservation whose row is locked: `release` or `expire`, which leaves it in this status. */
async function createGiveBack(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('give_back')}(r ${names.id('reservations')}, p_type text, p_status text, p_actor text)
    RETURNS void
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    BEGIN
      PERFORM ${names.id('book')}(ROW(NULL, r.product_id, r.location_id, p_type, 0, -r.remaining, NULL, NULL,
        NULL, r.reference, NULL, r.id, p_actor, NULL)::${names.id('movements')});
      UPDATE ${names.id('reservations')} v SET remaining = 0, status = p_status WHERE v.id = r.id;
    END $$`.execute(db)
}

/** Answers what the reservation was before: `active` means that it was released now. */
async function createRelease(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('release_reservation')}(p_actor text, p_id bigint) RETURNS text
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      r ${names.id('reservations')};
    BEGIN
      SELECT * INTO r FROM ${names.id('reservations')} v WHERE v.id = p_id FOR UPDATE;
      IF r.status = 'active' THEN PERFORM ${names.id('give_back')}(r, 'release', 'released', p_actor); END IF;
      RETURN coalesce(r.status, 'not-found');
    END $$`.execute(db)
}
