-- distribute: everywhere
-- Returns the number of a merchant's next id: the clock's number, or one after the merchant's last id if the clock has not
-- advanced. The caller holds the lock of the merchant's balance. So the ids of a merchant become visible in ascending order, and
-- a reader that pages forward misses no late commit.
CREATE OR REPLACE FUNCTION {{next_number}}(p_last_id text)
RETURNS bigint
LANGUAGE sql
AS $$
SELECT greatest(
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1048576
    + nextval('payments' || '.' || '{{prefix}}id_counter'),
  {{id_number}}(p_last_id) + 1
)
$$;
