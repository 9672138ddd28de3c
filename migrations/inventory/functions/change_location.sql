-- Changes a location. The version that a change is based on (If-Match) is compared under the lock of the row, so two changes
-- based on the same version cannot both pass. A trigger counts the version (see 0003-create-locations.ts).
--
-- p_versions: versions that the change may be based on; null accepts any.
-- p_code, p_name, p_active: the new values; null keeps a value.
-- Returns done with the location as it is afterwards, or the verdict not-found or stale.
--
-- Lock order: the location, then its new code in the unique index. Two changes that each want the code which the other gives up
-- can deadlock. PostgreSQL then ends one of them, and the caller runs it again.
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
