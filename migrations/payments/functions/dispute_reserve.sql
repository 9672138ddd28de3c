-- distribute: everywhere
-- The amount that the open disputes of a merchant would take from its balance if all were lost, with those of unknown
-- transactions, which wait as exceptions. An exception without a worth holds back the whole balance. The captures are read
-- together: a merchant may have many disputes. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{dispute_reserve}}(p_merchant_id text)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  ids text[];
  reversed bigint[];
  open bigint[];
  beyond bigint;
  unknown record;
BEGIN
  SELECT array_agg(t.id), array_agg(t.refunded + t.lost), array_agg(t.disputed - t.lost) INTO ids, reversed, open
    FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id IN (
      SELECT d.transaction_id FROM {{disputes}} d WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
    );
  SELECT coalesce(sum(d.excess_gross), 0) INTO beyond FROM {{disputes}} d
    WHERE d.merchant_id = p_merchant_id AND d.status = 'open';
  SELECT coalesce(sum(x.reserved), 0)::bigint AS reserved, coalesce(bool_or(x.reserved IS NULL), false) AS is_without_worth
    INTO unknown FROM {{acquirer_exceptions}} x
    WHERE x.merchant_id = p_merchant_id AND x.resolved IS NULL;
  IF unknown.is_without_worth THEN
    SELECT greatest(b.balance, 0) INTO unknown.reserved FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id;
  END IF;
  RETURN beyond + unknown.reserved + (
    SELECT coalesce(sum(
      {{captured_value}}(c.amounts, c.grosses, t.reversed + t.open) - {{captured_value}}(c.amounts, c.grosses, t.reversed)
    ), 0)
    FROM unnest(ids, reversed, open) AS t (id, reversed, open)
    JOIN {{net_captures}}(p_merchant_id, ids, NULL, 0) c ON c.transaction_id = t.id
  );
END
$$;
