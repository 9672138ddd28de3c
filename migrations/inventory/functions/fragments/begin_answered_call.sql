  -- The beginning of a function that answers a request: claims the idempotency key of the request, or returns the stored response
  -- to the same request. Needs p_caller and `claim record`.
  IF p_caller.key IS NOT NULL THEN
    SELECT * INTO claim FROM {{claim_key}}(p_caller);
    IF claim.verdict <> 'claimed' THEN
      verdict := claim.verdict;
      answer := claim.body;
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
