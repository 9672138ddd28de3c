-- distribute: everywhere
-- Decides a capture, refund or void, and writes nothing. p_operation: the request, with the verdict on its caller. p_transaction:
-- its row, locked by the caller; NULL unless that verdict is done. p_fee_flat: the flat fee of the kind in the funding currency
-- of the transaction; NULL if a rate is missing. p_today and p_rate_age_days_max: which exchange rates are recent enough.
-- p_margin_bps: the margin on a rate.
--
-- Returns the verdict of run_operations. movement: the trail entry that a done operation books, with the amounts after it. For a
-- replayed operation, movement has the amounts after its first request.
--
-- Both functions of operations call this function, so that they decide alike. It takes one row at a time, because PL/pgSQL would
-- copy an array into each call. (reference: Operations)
CREATE OR REPLACE FUNCTION {{decide_operation}}(
  p_operation {{operation_item}}, p_transaction {{transactions}}, p_fee_flat bigint, p_today date, p_rate_age_days_max int, p_margin_bps int
)
RETURNS {{operation_result}}
LANGUAGE plpgsql
AS $$
DECLARE
  result {{operation_result}};
  movement {{movement}};
  -- The first request with the idempotency key of the operation.
  first_use {{idempotency}};
  -- The worth of one minor unit of the transaction's currency in its funding currency, as a fraction, and the rate.
  numerator numeric; denominator numeric; rate text; rate_date date;
  -- The amount of earlier captures at this rate, and the worth of all earlier captures in the funding currency.
  earlier_amount numeric := 0; earlier_gross numeric := 0;
  gross bigint := 0; fee_flat bigint := 0; fee_rate bigint := 0;
BEGIN
  result := ROW(p_operation.verdict, p_operation.identity_id, NULL, NULL, p_transaction);
  IF p_operation.verdict <> 'done' THEN RETURN result; END IF;
  -- The row of a key stores the amounts, so an idempotent request gets the same answer whatever has happened since.
  IF p_operation.key IS NOT NULL THEN
    SELECT k.* INTO first_use FROM {{idempotency}} k
      WHERE k.merchant_id = p_operation.merchant_id AND k.identity_id = p_operation.identity_id AND k.method = 'POST'
        AND k.path = p_operation.path AND k.key = p_operation.key;
    IF FOUND THEN
      result.verdict := CASE WHEN first_use.fingerprint = p_operation.fingerprint THEN 'replayed' ELSE 'key-mismatch' END;
      movement.seq := first_use.trail_length;
      movement.pending := first_use.pending; movement.captured := first_use.captured;
      movement.refunded := first_use.refunded; movement.voided := first_use.voided; movement.disputed := first_use.disputed;
      result.movement := movement;
      RETURN result;
    END IF;
  END IF;
  -- Compute the worth in the funding currency, and the fees. A capture is rounded together with the earlier captures, so that
  -- many small captures have the same worth and the same fee share as one large capture.
  IF p_operation.kind = 'capture' THEN
    gross := p_operation.amount;
    IF p_transaction.currency <> p_transaction.funding_currency THEN
      SELECT r.numerator, r.denominator, r.rate, r.rate_date INTO numerator, denominator, rate, rate_date
        FROM {{exchange_ratio}}(p_transaction.currency, p_transaction.funding_currency, p_today, p_margin_bps) r;
    END IF;
    IF p_transaction.captured > 0 THEN
      -- Skip captures that the acquirer has rejected, even if a part is still owed, because their fees were given back.
      -- (reference: When a capture is converted)
      SELECT coalesce(sum(c.amount) FILTER (
          WHERE c.at_rate IS NOT DISTINCT FROM rate AND c.of_date IS NOT DISTINCT FROM rate_date
        ), 0), coalesce(sum(c.gross), 0) INTO earlier_amount, earlier_gross
      FROM (
        SELECT max(e.amount) AS amount, max(e.gross) AS gross, max(e.rate) AS at_rate, max(e.rate_date) AS of_date
        FROM {{trail_entries}} e
        WHERE e.merchant_id = p_transaction.merchant_id AND e.transaction_id = p_transaction.id AND e.kind = 'capture'
        GROUP BY CASE WHEN e.amount < 0 THEN {{reversed_entry}}(e.reference) ELSE e.id END
        HAVING min(e.amount) > 0
      ) c;
    END IF;
    IF p_transaction.currency <> p_transaction.funding_currency THEN
      gross := {{round_half_even}}((earlier_amount + p_operation.amount) * numerator, denominator)
        - {{round_half_even}}(earlier_amount * numerator, denominator);
    END IF;
    fee_rate := {{round_half_even}}((earlier_gross + gross) * (p_operation.pricing ->> 'rate')::numeric, 10000)
      - {{round_half_even}}(earlier_gross * (p_operation.pricing ->> 'rate')::numeric, 10000);
  ELSIF p_operation.kind = 'refund' THEN
    -- A refund takes back the worth of the captures, starting where earlier refunds and lost disputes ended.
    SELECT {{captured_value}}(c.amounts, c.grosses, p_transaction.refunded + p_transaction.lost + p_operation.amount)
        - {{captured_value}}(c.amounts, c.grosses, p_transaction.refunded + p_transaction.lost) INTO gross
      FROM (
        SELECT n.amounts, n.grosses FROM {{net_captures}}(p_transaction.merchant_id, ARRAY[p_transaction.id], NULL, 0) n
      ) AS c (amounts, grosses);
  END IF;
  IF p_operation.kind <> 'void' THEN fee_flat := p_fee_flat; END IF;
  -- The first reason counts. A NULL amount also exceeds the limit. A test merchant may use an old rate.
  result.possible := CASE p_operation.kind
    WHEN 'refund' THEN p_transaction.captured - p_transaction.refunded - p_transaction.disputed
    ELSE p_transaction.pending END;
  result.verdict := CASE
    WHEN p_operation.currency <> p_transaction.currency THEN 'currency-mismatch'
    WHEN (p_operation.amount BETWEEN 1 AND result.possible) IS NOT TRUE THEN 'limit-exceeded'
    WHEN p_transaction.trail_length >= CASE p_operation.kind WHEN 'capture' THEN 200 ELSE 300 END THEN 'trail-full'
    WHEN gross IS NULL OR fee_flat IS NULL OR NOT p_transaction.test AND rate_date < p_today - p_rate_age_days_max
      THEN 'rate-unavailable'
    ELSE 'done'
  END;
  IF result.verdict = 'done' THEN
    result.movement := ROW(p_transaction.merchant_id, p_operation.kind, p_transaction.test, p_operation.amount,
      p_transaction.currency, gross, fee_flat, fee_rate, rate, rate_date, p_transaction.id, p_transaction.trail_length + 1,
      coalesce(p_operation.descriptor, p_transaction.descriptor), p_operation.reference, NULL, NULL, NULL,
      p_transaction.pending - CASE p_operation.kind WHEN 'refund' THEN 0 ELSE p_operation.amount END,
      p_transaction.captured + CASE p_operation.kind WHEN 'capture' THEN p_operation.amount ELSE 0 END,
      p_transaction.refunded + CASE p_operation.kind WHEN 'refund' THEN p_operation.amount ELSE 0 END,
      p_transaction.voided + CASE p_operation.kind WHEN 'void' THEN p_operation.amount ELSE 0 END,
      p_transaction.disputed, NULL, NULL, NULL, p_transaction.funding_currency);
  END IF;
  RETURN result;
END
$$;
