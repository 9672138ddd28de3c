-- Deletes a location. The row stays for the movements that reference it, and its code can be used again. A trigger refuses to
-- delete a location that has stock (see 0005-guard-stock.ts).
--
-- p_versions: the versions on which the deletion may be based; null accepts any. Returns the verdict done, not-found or stale.
--
-- Lock order: the location for its version, then the same row in the trigger, which waits for running movements. A movement locks
-- its level before the location, and a deletion locks no level, so the two cannot deadlock.
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
