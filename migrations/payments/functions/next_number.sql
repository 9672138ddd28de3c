-- distribute: everywhere
-- The number of a merchant's next id: that of the clock, or one after the merchant's last id when the clock stands still or goes
-- back. The caller holds the merchant's balance row. So ids below a merchant become visible in rising order, and a reader that
-- pages forward misses no late commit.
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
