-- distribute: everywhere
-- Checks whether the caller may act on a merchant as an acquirer does: a member may, for a test merchant. Without a caller, an
-- operator or the acquirer itself acts. p_merchant_id: NULL if the object does not exist.
--
-- Verdict: that of judge_access.
CREATE OR REPLACE FUNCTION {{judge_test_access}}(
  p_caller {{caller}}, p_merchant_id text, OUT verdict text, OUT identity_id text
)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_variable
BEGIN
  verdict := CASE WHEN p_merchant_id IS NULL THEN 'not-found' ELSE 'done' END;
  IF p_caller IS NULL THEN RETURN; END IF;
  {{include:judge_access.sql}}
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id AND m.test;
  IF verdict = 'done' AND NOT FOUND THEN verdict := 'forbidden'; END IF;
END
$$;
