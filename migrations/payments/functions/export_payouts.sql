-- distribute: coordinator
-- Marks the live payouts that wait as exported, and returns them by merchant and id. Of two concurrent calls each payout is in
-- one: the second waits for the rows, and leaves out those that are exported by then.
--
-- Lock order: the payouts by merchant and id, the balances by merchant. close_payout takes a payout before its balance too, so
-- that the two never wait for each other.
CREATE OR REPLACE FUNCTION {{export_payouts}}()
RETURNS SETOF {{payouts}}
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  held {{payouts}}[];
  payout {{payouts}};
BEGIN
  SELECT array_agg(p ORDER BY p.merchant_id, p.id) INTO held FROM (
    SELECT * FROM {{payouts}} p
    WHERE NOT p.test AND p.status = 'created'
    ORDER BY p.merchant_id, p.id FOR UPDATE
  ) p;
  FOREACH payout IN ARRAY coalesce(held, '{}') LOOP
    PERFORM {{expect_recorded}}(payout.merchant_id, 'payouts', ARRAY[payout.id]);
    PERFORM {{expect_recorded}}(payout.merchant_id, 'merchants', ARRAY[payout.merchant_id]);
    UPDATE {{payouts}} p SET status = 'exported'
      WHERE p.merchant_id = payout.merchant_id AND p.id = payout.id;
    PERFORM {{record_states}}(payout.merchant_id, 'payouts', ARRAY[payout.id]);
    payout.status := 'exported';
    RETURN NEXT payout;
  END LOOP;
END
$$;
