-- All claims of the access token of the request; NULL without a token. See uid.sql.
CREATE OR REPLACE FUNCTION {{jwt}}() RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), ''))::jsonb
$$;
