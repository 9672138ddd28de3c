  -- Follows the SELECT that locks a row. Needs p_versions, where null accepts any version, held_version and verdict.
  verdict := CASE WHEN NOT FOUND THEN 'not-found' WHEN held_version <> ALL (p_versions) THEN 'stale' END;
  IF verdict IS NOT NULL THEN RETURN; END IF;
