  -- The end of a function that answers a request. A refusal (see refuse.sql) undoes everything since BEGIN, including the claim
  -- of the idempotency key. Needs `refused text`.
  verdict := 'done';
  RETURN NEXT;
EXCEPTION WHEN SQLSTATE 'TR001' THEN
  GET STACKED DIAGNOSTICS verdict = MESSAGE_TEXT, refused = PG_EXCEPTION_DETAIL;
  quantity := nullif(refused, '')::bigint;
  RETURN NEXT;
