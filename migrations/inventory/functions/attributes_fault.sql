-- Returns why the attributes of a product cannot be stored: bytes, depth or keys, or NULL if they can be stored. The service
-- checks the attributes of requests, but only the database has the result of a merge patch. The limits are those of the API.
--
-- bytes_max: the maximum length of the attributes as text, in bytes.
CREATE OR REPLACE FUNCTION {{attributes_fault}}(attributes jsonb, bytes_max integer)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
  SELECT CASE
    WHEN attributes = 'null' THEN 'null'
    WHEN octet_length(attributes::text) > bytes_max THEN 'bytes'
    WHEN attributes @? 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")' THEN 'depth'
    WHEN (
      SELECT count(*)
      FROM jsonb_path_query(attributes, 'strict $.** ? (@.type() == "object")') objects, jsonb_object_keys(objects)
    ) > 1000 THEN 'keys'
  END
$$;
