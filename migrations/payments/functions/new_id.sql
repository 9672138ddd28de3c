-- distribute: everywhere
-- Creates an id with its time, without the merchant's lock. The counter makes ids of the same millisecond different.
CREATE OR REPLACE FUNCTION {{new_id}}(p_tag text, OUT id text, OUT created timestamptz)
LANGUAGE plpgsql
AS $$
BEGIN
  created := date_trunc('milliseconds', clock_timestamp());
  id := lpad(to_hex(floor(extract(epoch FROM created))::bigint), 8, '0')
    || lpad(to_hex(extract(milliseconds FROM created)::int % 1000), 3, '0')
    || lpad(to_hex(nextval('payments' || '.' || '{{prefix}}id_counter')), 5, '0')
    || p_tag;
END
$$;
