-- distribute: coordinator
-- How many live payouts wait for a batch. The function counts as the owner, who has marked other payouts as exported in the same
-- transaction. Citus lets no other role read the payouts before the end of that transaction.
CREATE OR REPLACE FUNCTION {{count_waiting_payouts}}()
RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*)::integer FROM {{payouts}} p WHERE NOT p.test AND p.status = 'created'
$$;
