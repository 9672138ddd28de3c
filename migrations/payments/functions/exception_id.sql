-- distribute: everywhere
-- The id of an exception: a digest of its reference, so that an exception that comes again has the id of the first.
CREATE OR REPLACE FUNCTION {{exception_id}}(p_reference text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT left(encode(sha256(convert_to(p_reference, 'UTF8')), 'hex'), 24)
$$;
