// Movements as a request has them: one line or many, all or nothing. Levels are made and locked in one order before the first
// line is carried out, so that requests that share levels wait for one another, never in a circle.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { ANSWER, answeredCall } from './answered-call.ts'

export const createMoveStock = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    // `change` is what on_hand grows by, `counted` what it is from now on; one of the two is null. What leaves a location comes
    // in at `to_location_id`, where that is set. `expected` is what on_hand must be before.
    await sql`
      CREATE TYPE ${names.id('stock_line')} AS (
        type text, product_id bigint, location_id bigint, to_location_id bigint,
        change bigint, counted bigint, expected bigint, reason text, reference text
      )`.execute(db)
    await createHoldLevels(db, names)
    await createMoveLine(db, names)
    await createMoveStockFunction(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('move_stock')}(${names.id('caller')}, json)`.execute(db)
    await sql`DROP FUNCTION ${names.id('move_line')}(${names.id('stock_line')}, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('hold_levels')}(${names.id('stock_line')}[])`.execute(db)
    await sql`DROP TYPE ${names.id('stock_line')}`.execute(db)
  },
})

/** Makes the levels that are missing, of products and locations that there are, then locks all of them. */
async function createHoldLevels(db: Kysely<unknown>, names: Names): Promise<void> {
  const places = sql`
          unnest(p_lines) l CROSS JOIN LATERAL (VALUES (l.location_id), (l.to_location_id)) AS place (location_id)`
  await sql`
    CREATE FUNCTION ${names.id('hold_levels')}(p_lines ${names.id('stock_line')}[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    BEGIN
      INSERT INTO ${names.id('stock_levels')} (product_id, location_id)
        SELECT DISTINCT p.id, c.id
        FROM ${places}
        JOIN ${names.id('products')} p ON p.id = l.product_id AND p.deleted_at IS NULL
        JOIN ${names.id('locations')} c ON c.id = place.location_id AND c.deleted_at IS NULL
        ORDER BY 1, 2
        ON CONFLICT DO NOTHING;
      PERFORM FROM ${names.id('stock_levels')} s
        WHERE (s.product_id, s.location_id) IN (SELECT l.product_id, place.location_id FROM ${places})
        ORDER BY s.product_id, s.location_id
        FOR UPDATE;
    END $$`.execute(db)
}

/** Carries out one line, answers the ids of what was written: two for a transfer, of which the first is its `transfer_id`. */
async function createMoveLine(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('move_line')}(l ${names.id('stock_line')}, p_actor text) RETURNS bigint[]
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      held bigint;
      transfer_id bigint := CASE WHEN l.to_location_id IS NOT NULL THEN nextval('${names.id('movements_id_seq')}') END;
      written bigint;
    BEGIN
      IF l.counted IS NOT NULL OR l.expected IS NOT NULL THEN
        PERFORM ${names.id('admit_target')}(l.product_id, l.location_id);
        SELECT s.on_hand INTO held FROM ${names.id('stock_levels')} s
          WHERE s.product_id = l.product_id AND s.location_id = l.location_id;
        IF held <> l.expected THEN PERFORM ${names.id('refuse')}('stale-quantity', held); END IF;
      END IF;
      written := (${names.id('book')}(ROW(transfer_id, l.product_id, l.location_id, l.type,
        coalesce(l.change, l.counted - coalesce(held, 0)), 0, NULL, NULL,
        l.reason, l.reference, transfer_id, NULL, p_actor, NULL)::${names.id('movements')})).id;
      IF transfer_id IS NULL THEN RETURN ARRAY[written]; END IF;
      RETURN ARRAY[written, (${names.id('book')}(ROW(NULL, l.product_id, l.to_location_id, l.type,
        -l.change, 0, NULL, NULL,
        l.reason, l.reference, transfer_id, NULL, p_actor, NULL)::${names.id('movements')})).id];
    END $$`.execute(db)
}

async function createMoveStockFunction(db: Kysely<unknown>, names: Names): Promise<void> {
  const call = answeredCall(names, {
    status: 201,
    declare: sql`
        lines ${names.id('stock_line')}[] := ARRAY(
          SELECT s FROM json_populate_recordset(NULL::${names.id('stock_line')}, p_lines) s
        );
        each_line ${names.id('stock_line')};
        ids bigint[] := '{}';`,
    work: sql`
        PERFORM ${names.id('hold_levels')}(lines);
        FOREACH each_line IN ARRAY lines LOOP
          line := coalesce(line + 1, 0);
          ids := ids || ${names.id('move_line')}(each_line, p_caller.actor);
        END LOOP;
        line := NULL;
        answer := json_build_object('id', ids[1], 'ids', ids, 'levels', (
          SELECT json_agg(${names.id('level_json')}(l) ORDER BY l.product_id, l.location_id)
          FROM ${names.id('stock_levels')} l
          WHERE (l.product_id, l.location_id) IN (
            SELECT m.product_id, m.location_id FROM ${names.id('movements')} m WHERE m.id = ANY (ids)
          )
        ));`,
  })
  await sql`
    CREATE FUNCTION ${names.id('move_stock')}(p_caller ${names.id('caller')}, p_lines json) RETURNS ${ANSWER}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    ${call} $$`.execute(db)
}
