-- distribute: everywhere
-- Keeps the rows of a merchant on their server until the commit. Citus may move them to another server at any
-- time. A move waits for transactions that have written one of the rows, but not for those that have only
-- read or locked them: such a transaction would go on with rows that others change on the new server. And a
-- statement that has waited for a move sees what was there before it waited, so it finds no row in a part
-- that was made meanwhile. So a function that reads or changes rows calls this one first. For Citus the
-- UPDATE is a write, though no row has an empty id. A server without Citus moves nothing.
CREATE OR REPLACE FUNCTION {{lock_tenant}}(p_merchant_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  IF current_setting('citus.version', true) IS NOT NULL THEN
    UPDATE {{merchant_balances}} b SET last_id = b.last_id WHERE b.merchant_id = p_merchant_id AND b.last_id = '';
  END IF;
END
$$;
