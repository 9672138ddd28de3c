-- distribute: everywhere
-- Raises TL001 if rows differ from their last record. p_table and p_ids: as for record_states; the ids of deleted rows are found
-- in the records. The caller that changes a row already holds its lock, so nobody changes the row in between. Ignores records
-- without an id, because they are no links of the chain.
--
-- Without this check, a function could pay to an account that somebody entered by hand, record the row with its own change, and
-- so confirm the account. (reference: Chain of states)
CREATE OR REPLACE FUNCTION {{expect_recorded}}(p_merchant_id text, p_table text, p_ids text[])
RETURNS void
LANGUAGE plpgsql STABLE
{{include:hot.sql}}
AS $$
DECLARE
  present record;
  recorded record;
  what text;
  found_ids text[] := '{}';
  gone text;
BEGIN
  FOR present IN SELECT * FROM {{row_digests}}(p_merchant_id, p_table, p_ids) LOOP
    found_ids := found_ids || present.row_id;
    SELECT e.money, e.party, e.terms INTO recorded FROM {{state_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = present.row_id AND e.id > ''
      ORDER BY e.id DESC LIMIT 1;
    CONTINUE WHEN (recorded.money, recorded.party, recorded.terms)
      IS NOT DISTINCT FROM (present.money, present.party, present.terms);
    -- An operation has no record before its first answer.
    PERFORM 1 FROM {{acquirer_operations}} o
      WHERE p_table = 'acquirer_operations' AND recorded.money IS NULL
        AND o.merchant_id = p_merchant_id AND o.id = present.row_id
        AND o.status = 'open' AND num_nonnulls(o.reason, o.answered) = 0;
    CONTINUE WHEN FOUND;
    -- An exception has no record before it holds back money.
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
  IF cardinality(found_ids) < cardinality(p_ids) THEN
    SELECT e.row_id INTO gone FROM {{state_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = ANY (p_ids) AND e.row_id <> ALL (found_ids)
      LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION '% of %: the row was deleted by hand; look with: payments ledger verify', gone, p_table
        USING ERRCODE = 'TL001';
    END IF;
  END IF;
END
$$;
