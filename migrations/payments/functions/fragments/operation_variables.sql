-- What run_operations and run_merchant_operations compute with.
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  -- Each operation with its caller, its merchant and the verdict on both.
  judged {{operation_item}}[];
  i record;
  t {{transactions}};
  -- The request that used the key of an operation first.
  first_use {{idempotency}};
  -- What one minor unit of the transaction's currency is worth in the merchant's, and by which rate.
  numerator numeric; denominator numeric; rate text; rate_date date;
  -- What earlier captures took at this rate, and what all earlier captures were worth in the merchant's currency.
  earlier_amount numeric; earlier_gross numeric;
  gross bigint; fee_flat bigint; fee_rate bigint;
  -- The kind, prices and currency that priced_flat was computed for.
  priced_for record := ROW(NULL::text, NULL::jsonb, NULL::text);
  priced_flat bigint;
  -- What is written in step 4, and what is returned, by the place of the operation in the request.
  moment {{movement}}; movements {{movement}}[] := '{}';
  result {{operation_result}}; results {{operation_result}}[] := '{}';
  keys {{idempotency}}[] := '{}';
