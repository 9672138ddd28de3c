-- distribute: everywhere
-- Returns the id of an exception: a digest of its reference, so that a repeated exception has the same id.
CREATE OR REPLACE FUNCTION {{exception_id}}(p_reference text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT left(encode(sha256(convert_to(p_reference, 'UTF8')), 'hex'), 24)
$$;
