-- Applies a merge patch (RFC 7396): a member that is null removes, an object merges into the existing object, and anything else
-- replaces.
--
-- Returns the patched value.
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
