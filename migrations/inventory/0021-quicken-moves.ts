// A movement looked for its levels by joins, and PostgreSQL kept plans for them that read every level once there were many.
// Here each level is found by its key, whatever size the table had when the plan was made. The rules are those of 0016.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { createMoveStock } from './0016-create-move-stock.ts'
import { ANSWER, answeredCall } from './answered-call.ts'

export const quickenMoves = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    // The levels that lines are about, in the order in which they are locked.
    await sql`
      CREATE FUNCTION ${names.id('places_of')}(p_lines ${names.id('stock_line')}[])
      RETURNS TABLE (product_id bigint, location_id bigint) LANGUAGE sql IMMUTABLE AS $$
        SELECT DISTINCT l.product_id, place.location_id
        FROM unnest(p_lines) l CROSS JOIN LATERAL (VALUES (l.location_id), (l.to_location_id)) AS place (location_id)
        WHERE place.location_id IS NOT NULL
        ORDER BY 1, 2
      $$`.execute(db)
    await replaceHoldLevels(db, names)
    await replaceMoveStock(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('places_of')}(${names.id('stock_line')}[])`.execute(db)
    const { up, down } = createMoveStock(names)
    await down?.(db)
    await up(db)
  },
})

/** Locks every level, in order; makes those that are missing, of products and locations that there are. */
async function replaceHoldLevels(db: Kysely<unknown>, names: Names): Promise<void> {
  const lock = sql`PERFORM FROM ${names.id('stock_levels')} s
          WHERE s.product_id = place.product_id AND s.location_id = place.location_id FOR UPDATE`
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('hold_levels')}(p_lines ${names.id('stock_line')}[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      place record;
    BEGIN
      FOR place IN SELECT * FROM ${names.id('places_of')}(p_lines) LOOP
        ${lock};
        CONTINUE WHEN FOUND;
        INSERT INTO ${names.id('stock_levels')} (product_id, location_id)
          SELECT p.id, c.id FROM ${names.id('products')} p, ${names.id('locations')} c
          WHERE p.id = place.product_id AND p.deleted_at IS NULL
            AND c.id = place.location_id AND c.deleted_at IS NULL
          ON CONFLICT DO NOTHING;
        CONTINUE WHEN FOUND;
        ${lock};
      END LOOP;
    END $$`.execute(db)
}

async function replaceMoveStock(db: Kysely<unknown>, names: Names): Promise<void> {
  const call = answeredCall(names, {
    status: 201,
    declare: sql`
        lines ${names.id('stock_line')}[] := ARRAY(
          SELECT s FROM json_populate_recordset(NULL::${names.id('stock_line')}, p_lines) s
        );
        each_line ${names.id('stock_line')};
        ids bigint[] := '{}';`,
    // OFFSET 0 keeps the planner from making a join of it.
    work: sql`
        PERFORM ${names.id('hold_levels')}(lines);
        FOREACH each_line IN ARRAY lines LOOP
          line := coalesce(line + 1, 0);
          ids := ids || ${names.id('move_line')}(each_line, p_caller.actor);
        END LOOP;
        line := NULL;
        answer := json_build_object('id', ids[1], 'ids', ids, 'levels', (
          SELECT json_agg(level.record ORDER BY place.product_id, place.location_id)
          FROM ${names.id('places_of')}(lines) place CROSS JOIN LATERAL (
            SELECT ${names.id('level_json')}(l) AS record FROM ${names.id('stock_levels')} l
            WHERE l.product_id = place.product_id AND l.location_id = place.location_id OFFSET 0
          ) level
        ));`,
  })
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('move_stock')}(p_caller ${names.id('caller')}, p_lines json) RETURNS ${ANSWER}
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    ${call} $$`.execute(db)
}
