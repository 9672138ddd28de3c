-- distribute: everywhere
-- The first id of an instant. For a year that ids cannot hold, which the clock of a test merchant may show, the last id.
CREATE OR REPLACE FUNCTION {{first_id}}(p_at timestamptz)
RETURNS text
LANGUAGE sql STABLE
AS $$
SELECT {{id_at}}(
  least(greatest(floor(extract(epoch FROM p_at) * 1000)::bigint, 0), 4294967295999) * 1048576, ''
)
$$;
