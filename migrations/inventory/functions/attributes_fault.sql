-- Says why the attributes of a product cannot be stored. The service checks attributes that it receives, but only the database
-- sees what a merge patch makes of the stored ones. The bounds are those of the API.
--
-- bytes_max: how long they may be as text.
-- Returns null, bytes, depth or keys as text, or NULL when the attributes can be stored.
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
