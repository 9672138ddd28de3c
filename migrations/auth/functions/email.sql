-- The `email` claim of the request's access token, or NULL. See uid.sql.
CREATE OR REPLACE FUNCTION {{email}}() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.email', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email')
$$;
