-- distribute: coordinator
-- How many live payouts wait for a batch. It counts as the owner, who has marked others as exported in the same transaction: Citus
-- lets no other role read the payouts before its end.
CREATE OR REPLACE FUNCTION {{count_waiting_payouts}}()
RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*)::integer FROM {{payouts}} p WHERE NOT p.test AND p.status = 'created'
$$;
