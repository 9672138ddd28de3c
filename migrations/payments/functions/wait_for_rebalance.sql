-- distribute: everywhere
-- If a rebalance of a merchant's rows is about to end, waits until this server has their new location. Citus updates the servers
-- one after the other, and the sessions of a server after that. Meanwhile a read may use the old location and miss new writes of
-- other transactions. Functions that write call lock_tenant. A database transaction that reads and then writes in several
-- statements must begin with this function: the rows then stay on their server until the commit.
CREATE OR REPLACE FUNCTION {{wait_for_rebalance}}(p_merchant_id text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
END
$$;
