-- Formats a time for the API: UTC, with milliseconds.
CREATE OR REPLACE FUNCTION {{rfc3339}}(p_at timestamp with time zone)
RETURNS text
LANGUAGE sql
STABLE
AS $$
  SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
