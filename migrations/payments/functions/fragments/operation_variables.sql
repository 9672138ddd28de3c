-- The variables of run_operations and run_merchant_operations.
today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
-- Each operation with its caller, its merchant and the verdict on both.
judged {{operation_item}}[]; operation {{operation_item}};
each record;
-- The transaction of an operation, locked.
held {{transactions}};
-- The kind, prices and currency for which fee_flat was computed.
priced_for record := ROW(NULL::text, NULL::jsonb, NULL::text);
fee_flat bigint;
-- The rows that step 4 writes, and the results by the place of the operation in the request.
movements {{movement}}[] := '{}';
keys {{idempotency}}[] := '{}';
result {{operation_result}}; results {{operation_result}}[] := '{}';
