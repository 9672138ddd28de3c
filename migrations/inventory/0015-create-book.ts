// The one writer of stock: `book` changes a level and writes the movement that says so, in this order, under the lock of the
// level. What is not possible is refused by an exception that the calling function catches (answered-call.ts), so that a
// refusal undoes whatever was done before it, and so needs no undoing of its own anywhere.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { REFUSED } from './answered-call.ts'

export const createBook = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await createRefusals(db, names)
    await createBookFunction(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('book')}(${names.id('movements')})`.execute(db)
    await sql`DROP FUNCTION ${names.id('refuse_stock')}(bigint, bigint, text, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('admit_target')}(bigint, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('refuse')}(text, bigint)`.execute(db)
  },
})

/** `refuse` ends a call with a verdict, and a quantity that goes with it. */
async function createRefusals(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('refuse')}(p_verdict text, p_quantity bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '%', p_verdict USING ERRCODE = ${sql.lit(REFUSED)}, DETAIL = coalesce(p_quantity::text, '');
    END $$`.execute(db)
  // Refuses what is not there. Both rows stay until the end of the transaction: their deletion waits for it (0019). Answers
  // whether the location takes stock.
  await sql`
    CREATE FUNCTION ${names.id('admit_target')}(p_product_id bigint, p_location_id bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      is_active boolean;
    BEGIN
      PERFORM FROM ${names.id('products')} p WHERE p.id = p_product_id AND p.deleted_at IS NULL FOR KEY SHARE;
      IF NOT FOUND THEN PERFORM ${names.id('refuse')}('product-not-found', NULL); END IF;
      SELECT l.active INTO is_active FROM ${names.id('locations')} l
        WHERE l.id = p_location_id AND l.deleted_at IS NULL FOR KEY SHARE;
      IF NOT FOUND THEN PERFORM ${names.id('refuse')}('location-not-found', NULL); END IF;
      RETURN is_active;
    END $$`.execute(db)
  // A refusal for want of stock says first whether there is such a product and location.
  await sql`
    CREATE FUNCTION ${names.id('refuse_stock')}(
      p_product_id bigint, p_location_id bigint, p_verdict text, p_quantity bigint
    ) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      PERFORM ${names.id('admit_target')}(p_product_id, p_location_id);
      PERFORM ${names.id('refuse')}(p_verdict, p_quantity);
    END $$`.execute(db)
}

/**
 * Takes a movement without what comes after it, answers it as it was written. Where there is stock there are product and
 * location, so only what comes in asks for them. One rule keeps stock from being oversold: what is available afterwards is
 * not below zero.
 */
async function createBookFunction(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('book')}(m ${names.id('movements')}) RETURNS ${names.id('movements')}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      held ${names.id('stock_levels')};
    BEGIN
      IF m.on_hand_delta > 0 AND NOT ${names.id('admit_target')}(m.product_id, m.location_id) THEN
        PERFORM ${names.id('refuse')}('location-inactive', NULL);
      END IF;
      LOOP
        UPDATE ${names.id('stock_levels')} l
          SET on_hand = l.on_hand + m.on_hand_delta, reserved = l.reserved + m.reserved_delta,
            updated_at = greatest(clock_timestamp(), l.updated_at + interval '1 microsecond')
          WHERE l.product_id = m.product_id AND l.location_id = m.location_id
            AND l.on_hand - l.reserved + m.on_hand_delta - m.reserved_delta >= 0
            AND l.on_hand + m.on_hand_delta <= 1000000000000
          RETURNING l.on_hand, l.reserved, l.updated_at INTO m.on_hand_after, m.reserved_after, m.created_at;
        EXIT WHEN FOUND;
        -- There may be enough by now: then it is tried again.
        SELECT * INTO held FROM ${names.id('stock_levels')} l
          WHERE l.product_id = m.product_id AND l.location_id = m.location_id;
        IF held.on_hand + m.on_hand_delta > 1000000000000 THEN
          PERFORM ${names.id('refuse')}('above-limit', NULL);
        ELSIF held.product_id IS NULL OR held.on_hand - held.reserved + m.on_hand_delta - m.reserved_delta < 0 THEN
          PERFORM ${names.id('refuse_stock')}(m.product_id, m.location_id, 'insufficient-stock',
            coalesce(held.on_hand - held.reserved, 0));
        END IF;
      END LOOP;
      m.id := coalesce(m.id, nextval('${names.id('movements_id_seq')}'));
      INSERT INTO ${names.id('movements')} OVERRIDING SYSTEM VALUE SELECT (m).*;
      RETURN m;
    END $$`.execute(db)
}
