-- distribute: everywhere
-- Returns the first id of an instant, or the last id if the year is too late for ids, as a test clock may show.
CREATE OR REPLACE FUNCTION {{first_id}}(p_at timestamptz)
RETURNS text
LANGUAGE sql STABLE
AS $$
SELECT {{id_at}}(
  least(greatest(floor(extract(epoch FROM p_at) * 1000)::bigint, 0), 4294967295999) * 1048576, ''
)
$$;
