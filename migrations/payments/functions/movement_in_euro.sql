-- distribute: everywhere
-- Returns a movement whose funding currency the euro has replaced, with its worths in euro. The authorization or payout is from
-- before the merchant moved. `post` books the result, but stores the trail entry unchanged.
--
-- The worth of a transaction in euro is the sum of its trail at the fixed rate, rounded once. The worth of a movement is the
-- change of that sum. So the parts of a reversal add up to the whole, however often each part is rounded. Fees, an excess and a
-- payout are rounded separately. A failed payout keeps its amount in its own currency, in addition to its worth. (reference:
-- Moving to the euro)
--
-- The caller holds the lock of the transaction, so its trail does not change.
CREATE OR REPLACE FUNCTION {{movement_in_euro}}(m {{movement}})
RETURNS {{movement}}
LANGUAGE plpgsql
AS $$
DECLARE
  worth bigint;
  direction int := CASE m.kind WHEN 'capture' THEN 1 ELSE -1 END;
BEGIN
  m.fee_flat := {{to_euro}}(m.fee_flat + m.fee_rate, m.funding_currency);
  m.fee_rate := 0;
  m.excess_gross := {{to_euro}}(m.excess_gross, m.funding_currency);
  IF m.kind = 'payoutReversal' THEN
    m.amount := m.gross;
    m.gross := {{to_euro}}(m.gross, m.funding_currency);
  ELSIF m.kind IN ('capture', 'refund', 'disputeLost') THEN
    SELECT coalesce(sum(CASE e.kind WHEN 'capture' THEN e.gross ELSE -e.gross END), 0) INTO worth FROM {{trail_entries}} e
      WHERE e.merchant_id = m.merchant_id AND e.transaction_id = m.transaction_id
        AND e.kind IN ('capture', 'refund', 'disputeLost');
    m.gross := direction * ({{to_euro}}(worth + direction * m.gross, m.funding_currency)
      - {{to_euro}}(worth, m.funding_currency));
  END IF;
  RETURN m;
END
$$;
