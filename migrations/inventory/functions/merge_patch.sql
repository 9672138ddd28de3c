-- Applies a merge patch (RFC 7396) and returns the result.
--
-- A null field removes the stored field, an object merges into the stored object, and any other value replaces the stored value.
CREATE OR REPLACE FUNCTION {{merge_patch}}(target jsonb, patch jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
  SELECT CASE WHEN jsonb_typeof(patch) <> 'object' THEN patch ELSE (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM (
      SELECT key, value FROM jsonb_each(CASE WHEN jsonb_typeof(target) = 'object' THEN target ELSE '{}' END)
        WHERE NOT patch ? key
      UNION ALL
      SELECT key, {{merge_patch}}(target -> key, value) FROM jsonb_each(patch) WHERE value <> 'null'
    ) members
  ) END
$$;
