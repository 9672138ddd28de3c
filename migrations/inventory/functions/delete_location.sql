-- Deletes a location. The row stays for the stock movements that point at it, and its code becomes free.
-- A trigger refuses a location that has stock (see 0005-guard-stock.ts).
--
-- p_versions: versions that the deletion may be based on; null accepts any.
-- Returns the verdict done, not-found or stale.
--
-- Lock order: the location for its version, then the same row in the trigger, against movements that are under way. A movement
-- locks its level before the location, and a deletion locks no level, so that the two never wait for each other.
CREATE OR REPLACE FUNCTION {{delete_location}}(p_id bigint, p_versions integer[], OUT verdict text)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  held_version integer;
BEGIN
  SELECT l.version INTO held_version FROM {{locations}} l
    WHERE l.id = p_id AND l.deleted_at IS NULL FOR NO KEY UPDATE;
{{include:refuse_stale_version.sql}}
  UPDATE {{locations}} l SET deleted_at = now() WHERE l.id = p_id;
  verdict := 'done';
END
$$;
