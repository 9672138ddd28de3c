-- distribute: p_merchant_id
-- Deletes at most p_limit events of a merchant that are older than 30 days and so no longer listed. Returns the number of deleted
-- events. The id of an event begins with its time. Locked rows stay for the next call.
--
-- The service itself has no right to delete events. Otherwise an attacker with its login could hide actions from a merchant.
CREATE OR REPLACE FUNCTION {{delete_events_of}}(p_merchant_id text, p_limit int)
RETURNS int
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  until_id text := lpad(to_hex(floor(extract(epoch FROM now() - interval '30 days'))::bigint), 8, '0');
  ids text[];
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  SELECT array_agg(old.id) INTO ids FROM (
    SELECT e.id FROM {{events}} e WHERE e.merchant_id = p_merchant_id AND e.id < until_id
    LIMIT p_limit FOR UPDATE SKIP LOCKED
  ) old;
  IF ids IS NULL THEN RETURN 0; END IF;
  DELETE FROM {{events}} e WHERE e.merchant_id = p_merchant_id AND e.id = ANY (ids);
  RETURN cardinality(ids);
END
$$;
