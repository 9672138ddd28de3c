-- The `role` claim of the request's access token, such as `authenticated`, or NULL. See uid.sql.
CREATE OR REPLACE FUNCTION {{role}}() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.role', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role')
$$;
