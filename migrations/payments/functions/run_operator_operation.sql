-- distribute: coordinator
-- Executes a capture, refund or void for an operator, in the database transaction of the operator's change. The service has
-- checked the role of the operator, so this function checks no membership. The permissions of the merchant apply as for its
-- members. p_merchant_id: the merchant of the transaction. p_margin_bps and p_rate_age_days_max: as in run_operations. (console
-- reference: Routes of payments)
--
-- Returns one row with the columns of run_operations: not-found, forbidden if the merchant lacks the permission, the verdicts of
-- decide_operation, or done. claim_operator_change detects idempotent requests, so the operation has no Idempotency-Key.
--
-- Lock order: the transaction, the balance, as in run_operations.
CREATE OR REPLACE FUNCTION {{run_operator_operation}}(
  p_merchant_id text, p_transaction_id text, p_kind text, p_amount bigint, p_currency text, p_descriptor text, p_reference text,
  p_margin_bps int, p_rate_age_days_max int
)
RETURNS TABLE (
  verdict text, identity_id text, possible bigint, movement {{movement}}, transaction {{transactions}},
  instrument {{instruments}}, trail json
)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_column
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  merchant {{merchants}};
  held {{transactions}};
  instrument {{instruments}};
  operation {{operation_item}};
  result {{operation_result}};
  movement {{movement}};
  fee_flat bigint;
  trail json;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:check_operation_terms.sql}}
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT x.* INTO held FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = p_transaction_id FOR UPDATE;
  operation := ROW(p_kind, p_transaction_id, p_amount, p_currency, p_descriptor, p_reference, NULL, NULL, NULL,
    CASE
      WHEN held.id IS NULL THEN 'not-found'
      WHEN (merchant.claim ->> ('can' || initcap(p_kind)))::boolean IS NOT TRUE THEN 'forbidden'
      ELSE 'done'
    END, NULL, p_merchant_id, merchant.pricing)::{{operation_item}};
  IF operation.verdict = 'done' THEN
    SELECT f.amount INTO fee_flat FROM {{flat_fee}}(p_kind, merchant.pricing, held.funding_currency, today) f;
  END IF;
  result := {{decide_operation}}(operation, held, fee_flat, today, p_rate_age_days_max, p_margin_bps);
  IF result.verdict = 'done' THEN
    movement := result.movement;
    PERFORM FROM {{post}}(ARRAY[movement]);
    UPDATE {{transactions}} x SET pending = movement.pending, captured = movement.captured, refunded = movement.refunded,
      voided = movement.voided, trail_length = movement.seq
      WHERE x.merchant_id = p_merchant_id AND x.id = p_transaction_id;
    SELECT n.* INTO instrument FROM {{instruments}} n WHERE n.merchant_id = p_merchant_id AND n.id = held.instrument_id;
    SELECT {{include:trail_json.sql}} INTO trail FROM {{trail_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.transaction_id = p_transaction_id AND e.seq <= movement.seq;
  END IF;
  RETURN QUERY SELECT result.verdict, NULL::text, result.possible, movement, held, instrument, trail;
END
$$;
