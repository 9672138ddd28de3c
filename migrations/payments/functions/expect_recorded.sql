-- distribute: everywhere
-- Raises TL001 unless rows are as they were last recorded. p_table and p_ids: as for record_states. The caller that changes a
-- row holds its lock already, so that nobody changes the row in between.
--
-- Without this check a function could pay to an account that somebody put in by hand, record the row with its own change, and so
-- confirm the account. (reference: Chain of states)
CREATE OR REPLACE FUNCTION {{expect_recorded}}(p_merchant_id text, p_table text, p_ids text[])
RETURNS void
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  changed record;
BEGIN
  SELECT d.row_id, concat_ws(' and ',
      CASE WHEN s.money IS DISTINCT FROM d.money THEN 'what moves money' END,
      CASE WHEN s.party IS DISTINCT FROM d.party THEN 'who gets or pays it' END,
      CASE WHEN s.terms IS DISTINCT FROM d.terms THEN 'its terms' END
    ) AS what INTO changed
    FROM {{row_digests}}(p_merchant_id, p_table, p_ids) d
    LEFT JOIN LATERAL (
      SELECT e.money, e.party, e.terms FROM {{state_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = d.row_id
      ORDER BY e.id DESC LIMIT 1
    ) s ON true
    WHERE (s.money, s.party, s.terms) IS DISTINCT FROM (d.money, d.party, d.terms)
      -- An operation is recorded only with its first answer.
      AND NOT (p_table = 'acquirer_operations' AND s.money IS NULL AND EXISTS (
        SELECT FROM {{acquirer_operations}} o WHERE o.merchant_id = p_merchant_id AND o.id = d.row_id
          AND o.status = 'open' AND num_nonnulls(o.reason, o.answered) = 0
      ))
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% of %: % was changed by hand; look with: payments ledger verify',
      changed.row_id, p_table, changed.what USING ERRCODE = 'TL001';
  END IF;
END
$$;
