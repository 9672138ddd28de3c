  -- The end of a function that answers a request. A refusal (see refuse.sql) undoes everything since BEGIN, the claim of the key
  -- included, so the work has nothing to undo. Needs `refused text`.
  verdict := 'done';
  RETURN NEXT;
EXCEPTION WHEN SQLSTATE 'TR001' THEN
  GET STACKED DIAGNOSTICS verdict = MESSAGE_TEXT, refused = PG_EXCEPTION_DETAIL;
  quantity := nullif(refused, '')::bigint;
  RETURN NEXT;
