-- distribute: coordinator
-- Marks live payouts that wait as exported, at most p_max, and returns them by merchant and id. Only one of two concurrent calls
-- returns a payout: the second waits for the rows, and leaves out payouts that are exported by then.
--
-- Lock order: the payouts by merchant and id, the balances by merchant. close_payout takes a payout before its balance too, so
-- that the two never wait for each other. The lock of the balance comes before a merchant is compared with what was recorded: a
-- change of the merchant holds it until its record, which may be on another server, is committed.
CREATE OR REPLACE FUNCTION {{export_waiting_payouts}}(p_max integer)
RETURNS SETOF {{payouts}}
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  merchant text;
  payout {{payouts}};
  exported integer := 0;
BEGIN
  FOR merchant IN
    SELECT DISTINCT p.merchant_id FROM {{payouts}} p WHERE NOT p.test AND p.status = 'created' ORDER BY 1
  LOOP
    PERFORM {{hold_merchant}}(merchant);
    FOR payout IN
      SELECT p.* FROM {{payouts}} p WHERE p.merchant_id = merchant AND NOT p.test AND p.status = 'created'
      ORDER BY p.id FOR UPDATE
    LOOP
      PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = merchant FOR UPDATE;
      PERFORM {{expect_recorded}}(merchant, 'payouts', ARRAY[payout.id]);
      PERFORM {{expect_recorded}}(merchant, 'merchants', ARRAY[merchant]);
      UPDATE {{payouts}} p SET status = 'exported' WHERE p.merchant_id = merchant AND p.id = payout.id;
      PERFORM {{record_states}}(merchant, 'payouts', ARRAY[payout.id]);
      payout.status := 'exported';
      RETURN NEXT payout;
      exported := exported + 1;
      IF exported >= p_max THEN
        RETURN;
      END IF;
    END LOOP;
  END LOOP;
END
$$;
