-- The id of the user of the request, for policies and defaults of applications; NULL without a user.
--
-- PostgREST sets one parameter with all claims, `request.jwt.claims`. Old versions set one parameter for each claim instead, such
-- as `request.jwt.claim.sub`. After a database transaction, the parameter is an empty text on the open connection.
--
-- The function has no SET clause, so that PostgreSQL can inline its body in a policy.
CREATE OR REPLACE FUNCTION {{uid}}() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid
$$;
