-- distribute: everywhere
-- Keeps the rows of a merchant on their server until the commit. Citus may move them to another server at any time. A move waits
-- for database transactions that have written one of the rows, but not for those that have only read or locked rows. Such a
-- transaction would continue with rows that others change on the new server. A statement that waited for a move has a snapshot
-- from before the wait, so it finds no row in a shard that was created meanwhile. So a function that reads or changes rows calls
-- this function first. Citus counts the UPDATE as a write, although no row has an empty id. Without Citus the call does nothing.
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
