-- distribute: everywhere
-- Returns the event type of a movement. If the acquirer rejects a movement, a second movement of the same kind with a negative
-- amount takes it back. p_rejected: whether the movement is such a correction.
CREATE OR REPLACE FUNCTION {{event_type}}(p_kind text, p_rejected boolean)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE CASE WHEN p_rejected THEN 'rejected' ELSE p_kind END
  WHEN 'rejected' THEN 'transaction.rejected'
  WHEN 'capture' THEN 'transaction.captured'
  WHEN 'refund' THEN 'transaction.refunded'
  WHEN 'void' THEN 'transaction.voided'
  WHEN 'disputeWon' THEN 'dispute.won'
  WHEN 'disputeLost' THEN 'dispute.lost'
  WHEN 'payout' THEN 'payout.created'
  WHEN 'payoutSettled' THEN 'payout.settled'
  WHEN 'payoutReversal' THEN 'payout.failed'
END
$$;
