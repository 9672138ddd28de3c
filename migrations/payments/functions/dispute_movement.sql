-- distribute: everywhere
-- Returns the movement that closes a dispute. p_held and p_after: the transaction before and after. p_outcome: won or lost.
--
-- The fee of a lost dispute is the fee in the merchant's record. The day of the movement is the UTC day, in any time zone of the
-- session.
--
-- Lock: the balance, as in post, if the dispute is lost. A change of the merchant holds this lock until its record is committed.
-- On a cluster, the merchant's row and its record are on different servers, and a failure may delay one of the two commits.
-- Without the lock, the call could take the new row for one that was changed by hand.
CREATE OR REPLACE FUNCTION {{dispute_movement}}(
  p_held {{transactions}}, p_after {{transactions}}, p_dispute {{disputes}}, p_outcome text
)
RETURNS {{movement}}
LANGUAGE plpgsql
AS $$
DECLARE
  moved {{movement}};
BEGIN
  moved := jsonb_populate_record(NULL::{{movement}}, to_jsonb(p_after));
  moved.kind := CASE p_outcome WHEN 'won' THEN 'disputeWon' ELSE 'disputeLost' END;
  moved.transaction_id := p_after.id;
  moved.dispute_id := p_dispute.id;
  moved.seq := p_after.trail_length;
  moved.amount := p_dispute.covered;
  moved.reference := NULL; moved.gross := 0; moved.fee_flat := 0; moved.fee_rate := 0;
  IF p_outcome = 'lost' THEN
    moved.gross := {{reversal_gross}}(
      p_held.merchant_id, p_held.id, p_held.refunded + p_held.lost, p_dispute.covered
    );
    moved.excess := p_dispute.excess; moved.excess_currency := p_dispute.currency;
    moved.excess_gross := p_dispute.excess_gross;
    PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_held.merchant_id FOR UPDATE;
    SELECT f.amount INTO moved.fee_flat
      FROM {{recorded_merchant}}(p_held.merchant_id) m, {{flat_fee}}(
        'dispute', m.pricing, p_held.funding_currency, (clock_timestamp() AT TIME ZONE 'UTC')::date
      ) f
      WHERE m.id = p_held.merchant_id;
  END IF;
  RETURN moved;
END
$$;
