-- distribute: everywhere
-- Returns the number of an id: milliseconds * 2^20 + counter. Ids and their numbers have the same order.
CREATE OR REPLACE FUNCTION {{id_number}}(p_id text)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT (('x' || substr(p_id, 1, 8))::bit(32)::bigint * 1000 + ('x' || substr(p_id, 9, 3))::bit(12)::bigint)
  * 1048576 + ('x' || substr(p_id, 12, 5))::bit(20)::bigint
$$;
