-- Moves stock by one or many lines. If one line is refused, no stock moves. Missing levels are created (see lock_levels.sql).
--
-- p_caller: the sender and the idempotency key. p_lines: an array of objects with the fields of the type stock_line. Returns done
-- or replayed with the ids of the movements and the resulting levels, a verdict of claim_key, or a refusal of move_line with the
-- index of its line, from 0.
--
-- Lock order: the key, the levels by product and location, then each product and location that receives stock. An idempotent
-- request waits for the key before it locks any stock. All calls lock levels in one order, so two calls cannot deadlock.
CREATE OR REPLACE FUNCTION {{move_stock}}(p_caller {{caller}}, p_lines json)
RETURNS TABLE (verdict text, answer json, quantity bigint, line integer)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_column
DECLARE
  claim record;
  refused text;
  lines {{stock_line}}[] := ARRAY(
    SELECT s FROM json_populate_recordset(NULL::{{stock_line}}, p_lines) s
  );
  each_line {{stock_line}};
  ids bigint[] := '{}';
BEGIN
{{include:begin_answered_call.sql}}

  PERFORM {{lock_levels}}(lines);
  FOREACH each_line IN ARRAY lines LOOP
    line := coalesce(line + 1, 0);
    ids := ids || {{move_line}}(each_line, p_caller.actor);
  END LOOP;
  line := NULL;
  -- OFFSET 0 stops the planner from making a join. A join would read all levels; the subquery finds each by key.
  answer := json_build_object('id', ids[1], 'ids', ids, 'levels', (
    SELECT json_agg(level.record ORDER BY place.product_id, place.location_id)
    FROM {{levels_of}}(lines) place CROSS JOIN LATERAL (
      SELECT {{level_json}}(l) AS record FROM {{stock_levels}} l
      WHERE l.product_id = place.product_id AND l.location_id = place.location_id OFFSET 0
    ) level
  ));

  IF p_caller.key IS NOT NULL THEN
    PERFORM {{finish_key}}(p_caller, 201, NULL, answer);
  END IF;
{{include:end_answered_call.sql}}
END
$$;
