-- distribute: everywhere
-- Raises TL001 unless rows are as they were last recorded. p_table and p_ids: as for record_states; ids of rows that are gone are
-- found where they were recorded. The caller that changes a
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
  present record;
  recorded record;
  what text;
  found_rows int := 0;
  gone text;
BEGIN
  FOR present IN SELECT * FROM {{row_digests}}(p_merchant_id, p_table, p_ids) LOOP
    found_rows := found_rows + 1;
    SELECT e.money, e.party, e.terms INTO recorded FROM {{state_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = present.row_id
      ORDER BY e.id DESC LIMIT 1;
    CONTINUE WHEN (recorded.money, recorded.party, recorded.terms)
      IS NOT DISTINCT FROM (present.money, present.party, present.terms);
    -- An operation is recorded only with its first answer.
    PERFORM 1 FROM {{acquirer_operations}} o
      WHERE p_table = 'acquirer_operations' AND recorded.money IS NULL
        AND o.merchant_id = p_merchant_id AND o.id = present.row_id
        AND o.status = 'open' AND num_nonnulls(o.reason, o.answered) = 0;
    CONTINUE WHEN FOUND;
    -- So is an exception with the first money that it holds back.
    PERFORM 1 FROM {{acquirer_exceptions}} x
      WHERE p_table = 'acquirer_exceptions' AND recorded.money IS NULL
        AND x.merchant_id = p_merchant_id AND x.id = present.row_id AND x.reserved = 0;
    CONTINUE WHEN FOUND;
    what := concat_ws(' and ',
      CASE WHEN recorded.money IS DISTINCT FROM present.money THEN 'what moves money' END,
      CASE WHEN recorded.party IS DISTINCT FROM present.party THEN 'who gets or pays it' END,
      CASE WHEN recorded.terms IS DISTINCT FROM present.terms THEN 'its terms' END
    );
    RAISE EXCEPTION '% of %: % was changed by hand; look with: payments ledger verify', present.row_id, p_table, what
      USING ERRCODE = 'TL001';
  END LOOP;
  IF found_rows < cardinality(p_ids) THEN
    SELECT w.id INTO gone FROM unnest(p_ids) AS w (id)
      WHERE NOT EXISTS (SELECT FROM {{row_digests}}(p_merchant_id, p_table, ARRAY[w.id]) r WHERE r.row_id = w.id)
        AND EXISTS (
          SELECT FROM {{state_entries}} e
          WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = w.id
        )
      LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION '% of %: the row was deleted by hand; look with: payments ledger verify', gone, p_table
        USING ERRCODE = 'TL001';
    END IF;
  END IF;
END
$$;
