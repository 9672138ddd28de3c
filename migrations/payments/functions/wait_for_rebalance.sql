-- distribute: everywhere
-- Waits until the server that is asked knows where the rows of a merchant are, if a move of them is about to end. Citus tells the
-- servers one after the other where rows have gone, and the sessions of a server after that. Meanwhile a read may look where the
-- rows were, and miss what other transactions have written since. Functions that write call lock_tenant. A transaction of
-- several statements that read and then write begins with this one: the rows stay on their server until its commit.
CREATE OR REPLACE FUNCTION {{wait_for_rebalance}}(p_merchant_id text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
END
$$;
