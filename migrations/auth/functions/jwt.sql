-- All claims of the request's access token, or NULL. See uid.sql.
CREATE OR REPLACE FUNCTION {{jwt}}() RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), ''))::jsonb
$$;
