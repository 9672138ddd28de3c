-- distribute: everywhere
-- The amount that the open disputes of a merchant would take from its balance if all were lost. Their captures are read together:
-- a merchant may have many disputes. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{dispute_reserve}}(p_merchant_id text)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  ids text[];
  reversed bigint[];
  open bigint[];
BEGIN
  SELECT array_agg(t.id), array_agg(t.refunded + t.lost), array_agg(t.disputed - t.lost) INTO ids, reversed, open
    FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id IN (
      SELECT d.transaction_id FROM {{disputes}} d WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
    );
  RETURN (
    SELECT coalesce(sum(
      {{captured_value}}(c.amounts, c.grosses, t.reversed + t.open) - {{captured_value}}(c.amounts, c.grosses, t.reversed)
    ), 0)
    FROM unnest(ids, reversed, open) AS t (id, reversed, open)
    JOIN {{net_captures}}(p_merchant_id, ids, NULL, 0) c ON c.transaction_id = t.id
  );
END
$$;
