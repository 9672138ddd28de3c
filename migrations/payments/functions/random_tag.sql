-- distribute: everywhere
-- Returns eight random hexadecimal digits: the tag of a new merchant, app or user.
CREATE OR REPLACE FUNCTION {{random_tag}}()
RETURNS text
LANGUAGE sql
AS $$
SELECT right(gen_random_uuid()::text, 8)
$$;
