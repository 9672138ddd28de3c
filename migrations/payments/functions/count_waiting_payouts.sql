-- distribute: coordinator
-- Counts the live payouts that wait for a batch. The function runs as the owner, who has marked other payouts as exported in the
-- same database transaction. Until that transaction ends, Citus lets no other role read the payouts.
CREATE OR REPLACE FUNCTION {{count_waiting_payouts}}()
RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*)::integer FROM {{payouts}} p WHERE NOT p.test AND p.status = 'created'
$$;
