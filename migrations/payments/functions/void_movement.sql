-- distribute: everywhere
-- Returns the movement that voids the whole pending amount of a transaction.
CREATE OR REPLACE FUNCTION {{void_movement}}(t {{transactions}})
RETURNS {{movement}}
LANGUAGE sql STABLE
AS $$
SELECT jsonb_populate_record(NULL::{{movement}}, to_jsonb(t) || jsonb_build_object(
  'kind', 'void', 'transaction_id', t.id, 'seq', t.trail_length + 1, 'amount', t.pending,
  'gross', 0, 'fee_flat', 0, 'fee_rate', 0, 'reference', NULL, 'pending', 0, 'voided', t.voided + t.pending
))
$$;
