-- Decides the operation at `each.place` of `judged`, with the transaction `each.transaction`. Reads `today`, p_rate_age_days_max
-- and p_margin_bps. Stores the result at the same place of `results`. Appends a done operation to `movements` and, if it has an
-- Idempotency-Key, to `keys`. Overwrites `operation`, `held`, `result`, `priced_for` and `fee_flat`.
operation := judged[each.place];
held := each.transaction;
-- Many operations have the same flat fee, so compute it only if kind, prices or currency change.
IF operation.verdict = 'done'
  AND priced_for IS DISTINCT FROM ROW(operation.kind, operation.pricing, held.funding_currency) THEN
  priced_for := ROW(operation.kind, operation.pricing, held.funding_currency);
  SELECT f.amount INTO fee_flat
    FROM {{flat_fee}}(operation.kind, operation.pricing, held.funding_currency, today) f;
END IF;
result := {{decide_operation}}(operation, held, fee_flat, today, p_rate_age_days_max, p_margin_bps);
results[each.place] := result;
IF result.verdict = 'done' THEN
  movements := movements || result.movement;
  IF operation.key IS NOT NULL THEN
    keys := keys || ROW(operation.merchant_id, operation.identity_id, 'POST', operation.path, operation.key,
      operation.fingerprint, 201, NULL, operation.transaction_id, (result.movement).pending, (result.movement).captured,
      (result.movement).refunded, (result.movement).voided, (result.movement).disputed, (result.movement).seq, NULL,
      clock_timestamp())::{{idempotency}};
  END IF;
END IF;
