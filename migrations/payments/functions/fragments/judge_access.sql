-- Check access first: a caller who may not see the merchant gets no other information about it.
  SELECT j.verdict, j.identity_id INTO verdict, identity_id
    FROM {{judge_access}}(p_caller, p_merchant_id) j;
