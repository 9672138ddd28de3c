-- distribute: everywhere
-- Returns the time in the number of an id (see id_number), in whole milliseconds.
CREATE OR REPLACE FUNCTION {{created_at}}(p_number bigint)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT to_timestamp((p_number / 1048576)::float8 / 1000)
$$;
