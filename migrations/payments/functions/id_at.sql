-- distribute: everywhere
-- Returns the id of a number: its milliseconds and counter in hexadecimal digits, then the tag. See id_number. (reference: Ids)
--
-- The type oid is an unsigned 32-bit number, so it refuses a second that does not fit eight digits. A truncated second would
-- start again at 1970.
CREATE OR REPLACE FUNCTION {{id_at}}(p_number bigint, p_tag text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT lpad(to_hex((p_number / 1048576000)::oid::bigint), 8, '0') || lpad(to_hex(p_number / 1048576 % 1000), 3, '0')
  || lpad(to_hex(p_number % 1048576), 5, '0') || p_tag
$$;
