-- Find the merchant of the transaction, and check whether the caller may act on it as an acquirer does.
  IF p_merchant_id IS NULL THEN
    SELECT t.merchant_id INTO merchant FROM {{owners}}(p_transaction_id) o
      JOIN {{transactions}} t ON t.merchant_id = o.merchant_id AND t.id = p_transaction_id;
  ELSE
    SELECT t.merchant_id INTO merchant FROM {{transactions}} t
      WHERE t.merchant_id = p_merchant_id AND t.id = p_transaction_id;
  END IF;
  SELECT j.verdict, j.identity_id INTO verdict, identity_id
    FROM {{judge_test_access}}(p_caller, merchant) j;
