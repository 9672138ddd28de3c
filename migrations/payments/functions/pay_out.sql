-- distribute: p_merchant_id
-- Pays out the available amount, at most once per UTC day of the merchant's clock. A later call of the day returns the same
-- payout. p_caller: NULL for an operator or the schedule. p_minimum: in major units; NULL to check only access. p_delay_days: how
-- long a capture stays in the balance. Test payouts are settled immediately.
--
-- Verdict: that of judge_test_access or claim_key; skipped with the reason; done with the payout. A payout never takes money that
-- open disputes may take back or that exceptions hold back. So both are compared with their records. Otherwise a dispute that
-- somebody closed or deleted by hand would release its reserve. (reference: Making payouts)
--
-- Lock order: the key, the balance. The key comes first, so that an idempotent request waits for it without the lock of the
-- balance, which all other work on the merchant needs. Payouts of the day are read under the lock of the balance, so that two
-- calls never create two payouts.
CREATE OR REPLACE FUNCTION {{pay_out}}(p_caller {{caller}}, p_merchant_id text, p_minimum int, p_delay_days int)
RETURNS TABLE (verdict text, identity_id text, reason text, payout {{payouts}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  merchant {{merchants}};
  claimed record;
  moment timestamptz;
  ids record;
  available numeric;
  held_back text[];
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT j.verdict, j.identity_id INTO verdict, identity_id
    FROM {{judge_test_access}}(p_caller, merchant.id) j;
  IF verdict <> 'done' OR p_minimum IS NULL THEN RETURN NEXT; RETURN; END IF;
  IF (p_delay_days >= 0) IS NOT TRUE THEN
    RAISE EXCEPTION 'a delay is 0 days or more' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  claimed := {{claim_key}}(p_caller, merchant.id, identity_id);
  ids := {{take_ids}}(merchant.id, 1);
  moment := {{merchant_now}}(merchant.id);
  SELECT p.* INTO payout FROM {{payouts}} p
    WHERE p.merchant_id = merchant.id AND p.test = merchant.test
      AND (p.id = (claimed.held).object_id OR p.date = (moment AT TIME ZONE 'UTC')::date);
  IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; RETURN NEXT; RETURN; END IF;
  IF payout.id IS NULL THEN
    merchant := {{recorded_merchant}}(merchant.id);
    held_back := ARRAY(
      SELECT d.id FROM {{disputes}} d WHERE d.merchant_id = merchant.id
      UNION SELECT e.row_id FROM {{state_entries}} e WHERE e.merchant_id = merchant.id AND e.table_name = 'disputes'
    );
    PERFORM {{expect_recorded}}(merchant.id, 'disputes', held_back);
    held_back := ARRAY(
      SELECT x.id FROM {{acquirer_exceptions}} x WHERE x.merchant_id = merchant.id AND x.reserved IS DISTINCT FROM 0
      UNION SELECT e.row_id FROM {{state_entries}} e WHERE e.merchant_id = merchant.id AND e.table_name = 'acquirer_exceptions'
    );
    PERFORM {{expect_recorded}}(merchant.id, 'acquirer_exceptions', held_back);
    SELECT b.balance INTO available FROM {{merchant_balances}} b WHERE b.merchant_id = merchant.id;
    -- A payout never exceeds the balance, even if the amount that is held back is negative.
    available := least(available, available - {{dispute_reserve}}(merchant.id)
      - {{not_yet_due}}(merchant.id, moment - p_delay_days * interval '1 day'));
    reason := CASE
      WHEN EXISTS (
        SELECT FROM {{acquirer_exceptions}} x
        WHERE x.merchant_id = merchant.id AND x.resolved IS NULL AND x.payload ->> 'type' = 'events.waiting'
      ) THEN 'events_waiting'
      WHEN available < 0 THEN 'negative'
      WHEN available = 0 OR available < p_minimum * ('1e' || {{currency_exponent}}(merchant.currency))::numeric
        THEN 'below_minimum'
      WHEN merchant.iban IS NULL THEN 'no_iban'
    END;
    IF reason IS NOT NULL THEN
      verdict := 'skipped';
      PERFORM {{release_key}}(p_caller, merchant.id, identity_id);
      RETURN NEXT; RETURN;
    END IF;
    payout := {{post_payout}}(merchant, {{id_at}}(ids.first, ids.tag),
      {{created_at}}(ids.first), (moment AT TIME ZONE 'UTC')::date, available::bigint);
  END IF;
  PERFORM {{finish_key}}(p_caller, merchant.id, identity_id, 201, payout.id, NULL, NULL);
  RETURN NEXT;
END
$$;
