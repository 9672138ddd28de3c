-- distribute: p_merchant_id
-- Advances the test clock of a test merchant, which decides when objects of the merchant fall due. p_advance: in seconds; NULL to
-- check access only. moment: the new time of the clock, also for an idempotent request.
--
-- Verdict: that of judge_test_access or claim_key; limit-exceeded; done. A live merchant has no test clock, for no caller. The
-- limit is 100 years: beyond it, the clock would leave the range of ids and dates. (reference: Test clock)
--
-- Lock order: the key, the balance. The key comes first: an idempotent request waits for the key without blocking the balance,
-- for which all other requests of the merchant wait.
CREATE OR REPLACE FUNCTION {{advance_clock}}(p_caller {{caller}}, p_merchant_id text, p_advance bigint)
RETURNS TABLE (verdict text, identity_id text, moment timestamptz)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  merchant {{merchants}};
  claimed record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT j.verdict, j.identity_id INTO verdict, identity_id FROM {{judge_test_access}}(p_caller, merchant.id) j;
  IF verdict = 'done' AND merchant.test IS NOT TRUE THEN verdict := 'forbidden'; END IF;
  IF verdict <> 'done' OR p_advance IS NULL THEN RETURN NEXT; RETURN; END IF;
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    moment := (claimed.held).body::timestamptz;
    RETURN NEXT; RETURN;
  END IF;
  UPDATE {{merchant_balances}} b SET clock_offset = b.clock_offset + p_advance
    WHERE b.merchant_id = p_merchant_id AND b.clock_offset + p_advance <= 3153600000 AND p_advance >= 0;
  IF FOUND THEN
    moment := {{merchant_now}}(p_merchant_id);
    PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 201, NULL, NULL, moment::text);
  ELSE
    verdict := 'limit-exceeded';
    PERFORM {{release_key}}(p_caller, p_merchant_id, identity_id);
  END IF;
  RETURN NEXT;
END
$$;
