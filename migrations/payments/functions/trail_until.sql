-- distribute: everywhere
-- The trail of a transaction when it had p_length entries. A table function, so that the query that calls it is planned with it.
-- Amounts are JSON numbers: they are below 2^53.
CREATE OR REPLACE FUNCTION {{trail_until}}(p_merchant_id text, p_transaction_id text, p_length int)
RETURNS TABLE (trail json)
LANGUAGE sql STABLE
AS $$
SELECT json_agg(json_build_object('id', e.id, 'kind', e.kind, 'created', e.created, 'amount', e.amount,
  'balance', e.balance, 'feeFlat', e.fee_flat, 'feeRate', e.fee_rate, 'descriptor', e.descriptor,
  'reference', e.reference, 'lineId', e.line_id, 'disputeId', e.dispute_id, 'rate', e.rate,
  'rateDate', e.rate_date) ORDER BY e.seq)
FROM {{trail_entries}} e
WHERE e.merchant_id = p_merchant_id AND e.transaction_id = p_transaction_id AND e.seq <= p_length
$$;
