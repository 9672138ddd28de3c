-- distribute: everywhere
-- Returns the id of the trail entry that a negative entry corrects. `correct` writes the reference of a negative entry: `rejected
-- `, then the 24 digits of that id. The reference of a positive entry may be any text of a client. (reference: What is taken
-- back)
CREATE OR REPLACE FUNCTION {{reversed_entry}}(p_reference text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT right(p_reference, 24)
$$;
