-- The email that the access token of the request states; NULL without one. See uid.sql.
CREATE OR REPLACE FUNCTION {{email}}() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.email', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email')
$$;
