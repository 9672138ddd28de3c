-- The entries `e` of a trail. Amounts are JSON numbers, because they are below 2^53.
json_agg(json_build_object('id', e.id, 'kind', e.kind, 'created', e.created, 'amount', e.amount,
        'balance', e.balance, 'feeFlat', e.fee_flat, 'feeRate', e.fee_rate, 'descriptor', e.descriptor,
        'reference', e.reference, 'lineId', e.line_id, 'disputeId', e.dispute_id, 'rate', e.rate,
        'rateDate', e.rate_date) ORDER BY e.seq)
