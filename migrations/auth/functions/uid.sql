-- The user of the request that a statement belongs to, for policies and defaults of applications; NULL without one.
--
-- PostgREST sets one parameter with all claims, `request.jwt.claims`. Old versions set one parameter for each claim instead,
-- such as `request.jwt.claim.sub`. After the transaction, a parameter of an open connection is an empty text.
--
-- Without settings of its own, the function is replaced by its body where a policy calls it.
CREATE OR REPLACE FUNCTION {{uid}}() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid
$$;
