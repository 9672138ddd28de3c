  -- Include this after the SELECT that locks a row. Needs held_version, verdict and p_versions (null accepts any version).
  verdict := CASE WHEN NOT FOUND THEN 'not-found' WHEN held_version <> ALL (p_versions) THEN 'stale' END;
  IF verdict IS NOT NULL THEN RETURN; END IF;
