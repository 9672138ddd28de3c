-- Where the ids of an instant begin. The clock of a test merchant may show a year that no id can hold: the last one then.
CREATE OR REPLACE FUNCTION {{first_id}}(p_at timestamptz)
RETURNS text
LANGUAGE sql STABLE
AS $$
SELECT {{id_at}}(
  least(greatest(floor(extract(epoch FROM p_at) * 1000)::bigint, 0), 4294967295999) * 1048576, ''
)
$$;
