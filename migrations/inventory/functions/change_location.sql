-- Changes a location. The version on which the change is based (If-Match) is compared under the lock of the row, so of two
-- changes based on one version only one succeeds. A trigger increments the version (see 0003-create-locations.ts).
--
-- p_versions: the versions on which the change may be based; null accepts any. p_code, p_name, p_active: the new values; null
-- keeps a value. Returns done with the changed location, or the verdict not-found or stale.
--
-- Lock order: the location, then its new code in the unique index. Two changes that exchange the codes of two locations can
-- deadlock. PostgreSQL then ends one of them, and the caller runs it again.
CREATE OR REPLACE FUNCTION {{change_location}}(
  p_id bigint, p_versions integer[], p_code text, p_name text, p_active boolean,
  OUT verdict text, OUT code text, OUT name text, OUT active boolean, OUT version integer
)
RETURNS record
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_column
DECLARE
  held_version integer;
BEGIN
  SELECT l.version INTO held_version FROM {{locations}} l
    WHERE l.id = p_id AND l.deleted_at IS NULL FOR NO KEY UPDATE;
{{include:refuse_stale_version.sql}}
  UPDATE {{locations}} l
    SET code = coalesce(p_code, l.code), name = coalesce(p_name, l.name), active = coalesce(p_active, l.active)
    WHERE l.id = p_id
    RETURNING 'done', l.code, l.name, l.active, l.version INTO verdict, code, name, active, version;
END
$$;
